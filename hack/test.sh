#!/usr/bin/env bash
# Runs every test of this module. What starts a control plane has it built here first, so that the time which that takes is seen
# and is no test's.
set -euo pipefail
cd "$(dirname "$0")/.."

hack/controlplane/build.sh >/dev/null
hack/helm/build.sh >/dev/null
make --no-print-directory build

# Three packages at a time: the suites that start a control plane wait for half of their time, and keep two cores busy so. Every one is run:
# Go does not see what a test depends on that starts programs, or has manifests rendered. What waits longest is named first, so that
# the others run meanwhile.
go test -p 3 -count=1 -timeout 15m ./test/secure ./test/e2e ./...

# What is applied from Git, in a module of its own.
(cd test/gitops && go test -count=1 -timeout 10m .)

# How images are assembled, in a module of its own.
(cd hack/images && go test -count=1 -timeout 5m .)

# When alerts are raised, by Prometheus' own engine, in a module of its own.
(cd test/alerts && go test -count=1 -timeout 5m .)

# How known vulnerabilities are judged, in a module of its own.
(cd hack/vulnerabilities && go test -count=1 -timeout 5m .)
