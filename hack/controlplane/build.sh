#!/usr/bin/env bash
# Builds etcd, kube-apiserver and kubectl from their Go modules into a cache keyed by version, once a machine.
# Prints the folder that holds them as its only line on standard output; progress goes to standard error.
# KUBEBUILDER_ASSETS, where set, names a folder that has them already and wins.
set -euo pipefail
cd "$(dirname "$0")"

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for binary in etcd kube-apiserver kubectl; do
    [ -x "$KUBEBUILDER_ASSETS/$binary" ] || { echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no executable $binary" >&2; exit 1; }
  done
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

version_of() { go list -m -f '{{.Version}}' "$1"; }
kubernetes=$(version_of k8s.io/kubernetes)
etcd=$(version_of go.etcd.io/etcd/server/v3)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/streamshift/controlplane"
assets="$cache/kubernetes-$kubernetes-etcd-$etcd-$(go env GOOS)-$(go env GOARCH)"

complete() { [ -x "$assets/etcd" ] && [ -x "$assets/kube-apiserver" ] && [ -x "$assets/kubectl" ]; }
if ! complete; then
  mkdir -p "$assets"
  exec 9>"$assets.lock"
  flock 9 # two clones may ask at once; the second finds the work done
  IFS=. read -r major minor _ <<<"${kubernetes#v}"
  stamp="-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/component-base/version.gitMajor=$major -X k8s.io/component-base/version.gitMinor=$minor"
  build() { # build NAME PACKAGE: into the cache by rename, so that a build cut short leaves nothing half done
    [ -x "$assets/$1" ] && return
    local began=$SECONDS
    echo "Building $1 (Kubernetes $kubernetes, etcd $etcd); once a machine, all three may take 6 to 15 minutes on 2 cores" >&2
    nice go build -trimpath -ldflags "$stamp" -o "$assets/$1.partial" "$2" >&2
    mv "$assets/$1.partial" "$assets/$1"
    echo "Built $1 in $((SECONDS - began)) s" >&2
  }
  build etcd ./etcd
  build kubectl k8s.io/kubernetes/cmd/kubectl
  build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
fi
echo "$assets"
