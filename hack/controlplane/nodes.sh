#!/usr/bin/env bash
# Builds what a cluster has beside its API, kube-controller-manager, kube-scheduler, kubelet and kube-proxy, into the cache that build.sh
# fills, once a machine. It takes a quarter of an hour on 2 cores, so nothing calls it by itself; with --cached it builds nothing, and
# fails where one is missing. Prints the folder that holds all programs as its only line on standard output.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=hack/controlplane/folder.sh
. ./folder.sh

nodes=(kube-controller-manager kube-scheduler kubelet kube-proxy)
if [ "${1:-}" = --cached ]; then
  for binary in etcd kube-apiserver kubectl "${nodes[@]}"; do
    [ -x "$folder/$binary" ] || { echo "$folder has no $binary" >&2; exit 1; }
  done
else
  env -u KUBEBUILDER_ASSETS ./build.sh >/dev/null
  for binary in "${nodes[@]}"; do
    build_once "$folder" "$binary" "k8s.io/kubernetes/cmd/$binary" "$stamp"
  done
fi
echo "$folder"
