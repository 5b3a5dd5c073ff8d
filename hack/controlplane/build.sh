#!/usr/bin/env bash
# Builds etcd, etcdutl, kube-apiserver and kubectl from their Go modules into a cache keyed by version, once a machine.
# Prints the folder that holds them as its only line on standard output; progress goes to standard error.
# KUBEBUILDER_ASSETS, where set, names a folder that has them already and wins.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=hack/controlplane/folder.sh
. ./folder.sh

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for binary in etcd kube-apiserver kubectl; do
    [ -x "$KUBEBUILDER_ASSETS/$binary" ] || { echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no executable $binary" >&2; exit 1; }
  done
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

build_once "$folder" etcd ./etcd
build_once "$folder" etcdutl go.etcd.io/etcd/etcdutl/v3
build_once "$folder" kubectl k8s.io/kubernetes/cmd/kubectl "$stamp"
build_once "$folder" kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$stamp"
echo "$folder"
