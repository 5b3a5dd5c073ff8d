# Everything that is done to this repository, one word each. Recipes that need more than a line are scripts in hack/.

SHELL := /usr/bin/env bash -o pipefail
.DELETE_ON_ERROR:

controller_gen = $$(hack/tools/build.sh controller-gen)
golangci_lint = $$(hack/tools/build.sh golangci-lint)
programs = $(notdir $(wildcard cmd/*))

.PHONY: help
help: ## Say what there is.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

.PHONY: control-plane
control-plane: ## Build etcd, kube-apiserver and kubectl from their Go modules into a cache, once a machine.
	@hack/controlplane/build.sh

.PHONY: generate
generate: ## Write the deep-copy functions of the API.
	$(controller_gen) object paths=./api/...

.PHONY: manifests
manifests: ## Write custom resource definitions, one role a component, and the webhook's configuration.
	$(controller_gen) crd paths=./api/... output:crd:artifacts:config=config/crd/bases
	$(controller_gen) webhook paths=./controllers/... output:webhook:artifacts:config=config/webhook
	$(controller_gen) rbac:roleName=streamshift-manager,fileName=manager_role.yaml $(manager_paths) output:rbac:artifacts:config=config/rbac
	$(controller_gen) rbac:roleName=streamshift-node,fileName=node_role.yaml paths=./controllers/session/... output:rbac:artifacts:config=config/rbac
	$(controller_gen) rbac:roleName=streamshift-gateway,fileName=gateway_role.yaml paths=./internal/gateway/... output:rbac:artifacts:config=config/rbac

# The manager's role comes from every controller but the node agent's.
manager_paths = $(foreach folder,$(filter-out controllers/session,$(wildcard controllers/*)),paths=./$(folder)/...)

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

.PHONY: fmt
fmt: ## Format the sources.
	$(golangci_lint) fmt ./...

.PHONY: bench
bench: ## Measure the window of a transfer beside the floor of the same run.
	go run ./test/bench

.PHONY: clean
clean: ## Remove what was built in this checkout. The machine's caches stay.
	rm -rf bin
