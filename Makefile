# Everything that is done to this repository, one word each. Recipes that need more than a line are scripts in hack/.

SHELL := /usr/bin/env bash -o pipefail
.DELETE_ON_ERROR:

controller_gen = $$(hack/tools/build.sh controller-gen)
golangci_lint = $$(hack/tools/build.sh golangci-lint)
programs = $(notdir $(wildcard cmd/*))

.PHONY: help
help: ## Say what there is.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ See it

.PHONY: demo
demo: ## Move a stream to and fro under load, on a real control plane, and count what got lost. Prints a timeline.
	go run ./test/demo

.PHONY: playground
playground: ## Start everything on this machine and leave it up until Ctrl-C.
	go run ./test/playground

##@ Build

.PHONY: build
build: ## Build every program into bin/.
	go build -o bin/ $(addprefix ./cmd/,$(programs))

.PHONY: images
images: ## Build the images of manager, node and gateway for amd64 and arm64 into bin/images. VERSION= names them, PUSH= a registry.
	@go -C hack/images run . -module $(CURDIR) -folder $(CURDIR)/bin/images $(if $(VERSION),-version $(VERSION)) $(if $(PUSH),-push $(PUSH))

.PHONY: control-plane
control-plane: ## Build etcd, kube-apiserver and kubectl from their Go modules into a cache, once a machine.
	@hack/controlplane/build.sh

.PHONY: node-binaries
node-binaries: ## Build kubelet, kube-proxy, scheduler and controller manager into the cache, for test-cluster: a quarter of an hour, once a machine.
	@hack/controlplane/nodes.sh

.PHONY: generate
generate: ## Write the deep-copy functions of the API.
	$(controller_gen) object paths=./api/...

.PHONY: manifests
manifests: ## Write custom resource definitions, one role a component, and the Helm chart from them.
	@mkdir -p config/crd/bases config/rbac # controller-gen writes nothing, and says nothing, where a folder is missing
	$(controller_gen) crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(call role,manager,$(filter-out $(node_controllers) $(gateway_controllers),$(notdir $(wildcard controllers/*))))
	$(call role,node,$(node_controllers) $(everywhere))
	$(call role,gateway,$(gateway_controllers) $(everywhere))
	hack/chart.sh

# Whose controllers run where; those that neither of the first two names run in the manager.
node_controllers = session registration
gateway_controllers = route access
everywhere = monitoring
# $(call role,COMPONENT,CONTROLLERS): the component's role, from the markers in its controllers' packages.
role = $(controller_gen) rbac:roleName=streamshift-$1,fileName=$1_role.yaml $(foreach c,$2,paths=./controllers/$c/...) \
	output:rbac:artifacts:config=config/rbac

##@ Check

.PHONY: test
test: ## Run every test: unit, model walks, suites on a real API server, transfers between real processes.
	hack/test.sh

.PHONY: verify
verify: ## Check that generated files are what their sources say.
	hack/verify.sh

.PHONY: lint
lint: ## Run the linters.
	$(golangci_lint) run ./...

.PHONY: vulnerabilities
vulnerabilities: build ## Look for known vulnerabilities in the programs, by the newest list that the module proxy has.
	@go -C hack/vulnerabilities run . $(addprefix $(CURDIR)/bin/,$(programs))

.PHONY: fmt
fmt: ## Format the sources.
	$(golangci_lint) fmt ./...

.PHONY: conformance
conformance: ## Demand the protocol's conformance suite of a node, of the gateway, and of the gateway during transfers. Needs node and npm.
	go run ./test/conformance

.PHONY: ride
ride: ## Let the TypeScript, Python, Rust and Go clients and curl ride through transfers, cordons and restarts. Needs node, python3 and cargo.
	go run ./test/ride

.PHONY: crash
crash: ## End processes at every named point between two steps, and judge what became of every record. SEED= chooses the passes.
	go run ./test/crash $(if $(SEED),-seed $(SEED))

.PHONY: chaos
chaos: ## Kill, pause, cut off and slow down everything for a while, and judge what clients saw. SEED= and DURATION= (2m) say how.
	go run ./test/chaos $(if $(SEED),-seed $(SEED)) $(if $(DURATION),-duration $(DURATION))

.PHONY: bench
bench: ## Measure the window of a transfer beside the floor of the same run.
	go run ./test/bench

.PHONY: bench-append
bench-append: ## Measure appends beside the protocol's reference server, on files and on a real S3 server. Needs node and npm.
	go run ./test/appendbench

.PHONY: bench-drain
bench-drain: ## Measure how fast a node of 1,000 streams is drained beside the floor of the same run, and what clients feel.
	go run ./test/bench -drain 1000

.PHONY: scale
scale: ## Try a gigabyte in one stream, a million records, 5,000 event streams, and clients that do what they can. Takes some minutes.
	go run ./test/scale

.PHONY: kills
kills: ## Kill a server 200 times at random moments and look for every append that it acknowledged.
	go test ./test/solo -v -timeout 15m -run AtAKill -kills 200

.PHONY: test-s3
test-s3: ## Run the tests that need a real S3 server, which is built into a cache, once a machine.
	STREAMSHIFT_S3_SERVER=$$(hack/s3server/build.sh) go test -count=1 -v -run S3 ./internal/engine/...

.PHONY: test-cluster
test-cluster: ## Test on three real kubelets on this machine: install, drain, loss of a node, rollouts, uninstall. Needs root; see CONTRIBUTING.md.
	hack/cluster.sh

.PHONY: clean
clean: ## Remove what was built in this checkout. The machine's caches stay.
	rm -rf bin
