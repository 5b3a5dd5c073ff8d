# shellcheck shell=bash
# Sourced by the scripts of this folder: where the control plane's programs are kept, and what Kubernetes' own are stamped with.
# shellcheck source=hack/cached.sh
. ../cached.sh

kubernetes=$(module_version k8s.io/kubernetes)
etcd=$(module_version go.etcd.io/etcd/server/v3)
folder="$cache/controlplane/kubernetes-$kubernetes-etcd-$etcd-$(go env GOOS)-$(go env GOARCH)"

# Without the stamp the API server calls itself v0.0.0.
IFS=. read -r major minor _ <<<"${kubernetes#v}"
version=k8s.io/component-base/version
stamp="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=$major -X $version.gitMinor=$minor"
