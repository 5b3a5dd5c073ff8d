#!/usr/bin/env bash
# Runs every test of this module. What starts a control plane has it built here first, so that the time which that takes is seen
# and is no test's.
set -euo pipefail
cd "$(dirname "$0")/.."

hack/controlplane/build.sh >/dev/null
hack/helm/build.sh >/dev/null
make --no-print-directory build

# Two packages at a time: each of the suites that start a control plane keeps a small machine busy by itself.
packages=$(go list ./... | grep -v /test/e2e)
# shellcheck disable=SC2086 # a list
go test -p 2 -timeout 15m $packages
go test -timeout 15m ./test/e2e

# What is applied from Git, in a module of its own.
(cd test/gitops && go test -timeout 10m .)

# How images are assembled, in a module of its own.
(cd hack/images && go test -timeout 5m .)

# When alerts are raised, by Prometheus' own engine, in a module of its own.
(cd test/alerts && go test -timeout 5m .)

# How known vulnerabilities are judged, in a module of its own.
(cd hack/vulnerabilities && go test -timeout 5m .)
