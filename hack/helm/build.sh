#!/usr/bin/env bash
# Builds Helm from its Go module, once a machine, and prints its path as its only line on standard output.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=hack/cached.sh
. ../cached.sh

version=$(module_version helm.sh/helm/v4)
folder="$cache/helm/helm-$version-$(go env GOOS)-$(go env GOARCH)"
build_once "$folder" helm helm.sh/helm/v4/cmd/helm
echo "$folder/helm"
