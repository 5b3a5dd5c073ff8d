#!/usr/bin/env bash
# Builds the S3 server from its Go module, once a machine, and prints its path as its only line on standard output.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=hack/cached.sh
. ../cached.sh

version=$(module_version github.com/versity/versitygw)
folder="$cache/s3server/versitygw-$version-$(go env GOOS)-$(go env GOARCH)"
build_once "$folder" versitygw github.com/versity/versitygw/cmd/versitygw
echo "$folder/versitygw"
