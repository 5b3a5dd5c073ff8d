#!/usr/bin/env bash
# tools/build.sh NAME: builds the tool that go.mod pins under that name, once a machine, and prints its path as its only line
# on standard output. Its folder carries the versions of module and Go, since a linter must be built by the Go it lints.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=hack/cached.sh
. ../cached.sh

package=$(go list -f '{{.ImportPath}}' tool | grep "/$1\$") || { echo "hack/tools/go.mod pins no tool named $1" >&2; exit 1; }
version=$(go list -f '{{.Module.Version}}' "$package")
folder="$cache/tools/$1-$version-$(go env GOVERSION)"
build_once "$folder" "$1" "$package"
echo "$folder/$1"
