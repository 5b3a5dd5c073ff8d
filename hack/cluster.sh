#!/usr/bin/env bash
# Tests on a real cluster of three nodes on this machine (test/cluster). Where none can be started it says why, and fails nothing: it never
# builds the kubelet, and what it needs besides the binaries it does not install.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(go env GOOS)" != linux ]; then
  echo "The tests on real kubelets are skipped: they run on Linux only"
  exit 0
fi
go test -count=1 -v -timeout 30m ./test/cluster -kubelets -ginkgo.v
