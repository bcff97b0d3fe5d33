# svc: `make run` starts everything in one process, `make test` tests it.
export GOTOOLCHAIN := auto
export GOFLAGS := -buildvcs=false
# Tests use the same build as the image: a static binary with the DNS resolver of Go.
export CGO_ENABLED := 0
SHELL := bash
.SHELLFLAGS := -o pipefail -c

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOTEST ?= go test
export GOTEST
PACKAGES ?= ./...
FUZZTIME ?= 10s
FEEDTIME ?= $(FUZZTIME)

REVISION = -X main.revision=$(shell git describe --always --dirty 2>/dev/null || echo unknown)

TAG ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)

.DEFAULT_GOAL := help
.PHONY: run test unraced check race e2e pages torture readers compose charts base cluster contract bench fuzz backtest build image help

run: build ## start svc with an embedded Kafka and Redis (data in ./.svc-dev)
	@bin/svc dev $(ARGS)

test: ## run the short tests, which need only Go, and list the slowest packages
	@go list $(PACKAGES) | internal/testkit/run -parallel 4 -timeout 60m $(if $(SKIP),-skip '$(SKIP)') | internal/testkit/slowest
	@internal/e2e/notice

check: ## vet, format and lint
	@go vet ./...
	@go vet -tags synctests ./internal/stream ./processors/history
	@go run $(GOLANGCI) run ./...

# Packages that need no race detector, because neither they nor their tests start goroutines (internal/archtest).
ALONE := acuity|acuity/(adt|catalogue|codes|evidence|forecast|help|hospital|location|score|suggest|terminology)|ingest/(fhir|hl7)|internal/(archtest|httpapi/rules|httpapi/syntax|signature)|internal/analysis/(backtest|simulate)|notifier/(alert|endpointqueue|event|outcome|policy)|readapi/web/chart
# Long tests that start no goroutines other than those that shorter tests also start.
VOLUME := TestVerifyFindsFaults|TestExportThenImport|TestRefusalsOfEveryPath|TestNoFactOf(AMutatedRequestIsLost|HL7IsSilent|FHIRIsSilent)|TestAnHourOfDeadEndpoints|TestHoursPassByThemselves|TestFullWorklist|TestFullTerminologyMap
VOLUMES := ./ingest ./internal/analysis/replay ./internal/analysis/verify ./notifier ./processors/history ./schemas
# The whole-system tests with the most concurrency. They run svc itself under the race detector.
RACES := Tour|DevWebhooks|DevAdministration|ReadHoldsWrite$$|ResendInDev

# Tests that `make race` omits. CI runs each package once: concurrent ones with the race detector, these without.
unraced: export SVC_E2E := dev
unraced:
	@$(MAKE) --no-print-directory test SKIP='$(subst $$,$$$$,$(RACES))' \
		PACKAGES="$$(go list ./... | grep -E 'svc/($(ALONE)|internal/e2e)$$' | xargs)"
	@go list $(VOLUMES) | GOTESTSUM_JSONFILE=$(GOTESTSUM_JSONFILE:.json=-volume.json) internal/testkit/run -timeout 60m -run '^($(VOLUME))$$'

race: export CGO_ENABLED := 1
race: ## run all tests with the race detector (domain, forecast and simulator have no goroutines), svc itself in some of the whole system
	@go list ./... | grep -vE 'svc/($(ALONE)|internal/e2e)$$' | internal/testkit/run -race -timeout 60m -skip '^($(VOLUME))$$'
	@GOTESTSUM_JSONFILE=$(GOTESTSUM_JSONFILE:.json=-system.json) $(GOTEST) -vet=off -race -parallel 4 -timeout 60m -run '$(RACES)' ./internal/e2e

e2e: ## run all whole-system tests: on a real Kafka and Redis (Docker, or E2E_KAFKA and E2E_REDIS), on svc dev, in a browser
	@SVC_E2E=1 $(GOTEST) -vet=off -count=1 -parallel 3 -timeout 40m $(if $(SKIP),-skip '$(SKIP)') ./internal/e2e

pages: ## open every page in a browser in each window size and theme (make e2e checks a selection)
	@SVC_E2E=dev SVC_LOOKS=all $(GOTEST) -vet=off -count=1 -parallel 4 -timeout 60m -run '^Test(Pages|Integrations|Wall|Docs)' ./internal/e2e

DURATION ?= 1h
RATE ?= 40
SEED ?=
FAULTS ?=

torture: ## make random faults for DURATION (1h) on three brokers and a Redis with Sentinel (Docker, root), and print a table
	@SVC_E2E=1 SVC_TORTURE=$(DURATION) SVC_TORTURE_SEED=$(SEED) SVC_TORTURE_FAULTS='$(FAULTS)' SVC_TORTURE_RATE=$(RATE) \
		$(GOTEST) -vet=off -count=1 -v -timeout 24h -run '^TestTorture$$' ./internal/e2e

readers: ## run the notebooks and the readers of exports and topics in Python, Java and Spark, a third-party registry, and a sign-in by Keycloak (a gigabyte of packages)
	@SVC_READERS=1 CI=true $(GOTEST) -count=1 -timeout 30m -v -run '^Test(TopicsIn|TopicsRead|ForeignRegistry|Notebook|ExportRead|Keycloak)' ./internal/e2e

# Build Docker Compose for TestCompose at low priority: minutes the first time, then from the Go build cache.
compose:
	@nice -n 19 go build -C deploy/tools/compose -ldflags='-s -w' -o /dev/null github.com/docker/compose/v2/cmd

charts: ## check the chart and the Kustomize base of deploy/ against the types of their APIs
	@cd deploy/tools/kubernetes && nice -n 10 $(GOTEST) -count=1 ./...
	@echo "The chart was not installed: make cluster does that on a Kubernetes."

cluster: ## install the chart on the cluster of KUBECONFIG, update and delete pods under load (see the script)
	@deploy/tools/kubernetes/cluster

base: ## write the Kustomize base from the chart
	@cd deploy/tools/kubernetes && go test -count=1 -run TestBase . -args -update

contract: ## try every operation of the API with 100 cases of a fuzzer (Python and its package registry)
	@SVC_E2E=dev CASES=$${CASES:-100} $(GOTEST) -count=1 -timeout 60m -v -run TestSchemathesis ./internal/e2e

bench: ## run the benchmarks and print them as a table (SVC_E2E=1: on a real Kafka and Redis too)
	@internal/e2e/bench

fuzz: ## fuzz every decoder, each for FUZZTIME (default 10s), those of HL7 and FHIR for FEEDTIME
	@internal/e2e/fuzz $(FUZZTIME) $(FEEDTIME)

backtest: ## measure the forecast on years of simulated units, minutes; its gates must pass
	@$(GOTEST) -count=1 -timeout 60m -v -run 'TestGates|TestOthers' ./internal/analysis/backtest -args -year
	@$(GOTEST) -count=1 -v -run TestQueueFloor ./acuity/forecast

build: ## build bin/svc
	@go build -ldflags='$(REVISION)' -o bin/svc ./cmd/svc

image: ## build the container image svc:latest, also under its commit, or TAG (Docker)
	@go build -ldflags='-s -w $(REVISION)' -o bin/image/svc ./cmd/svc
	@docker build -q -t svc:latest -t svc:$(TAG) -f deploy/Dockerfile bin/image

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
