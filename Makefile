# The project's commands. `make` lists them.
GO      ?= go
VERSION ?= $(shell cat VERSION)
# Without the default gaps of up to 31 bytes before each function, the daemon needs 0.3 MiB less.
ALIGN   := $(if $(filter amd64,$(shell $(GO) env GOARCH)),-funcalign=8)
LDFLAGS := -s -w $(ALIGN) -X main.version=$(VERSION)
BIN     := bin/agent-lsp
FRONTENDS   ?= 5

.DEFAULT_GOAL := help
.PHONY: help build setup test test-beside test-in-turn quick check check-go check-texts test-go test-race test-heavy test-oracle test-editors test-others test-neovim test-vscode test-acp test-plain fuzz chaos soak chaos-ci chaos-engine chaos-outside chaos-kills docs site bench bench-peers bench-smoke pictures release-dry-run update generate cross clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

build: ## build the binary into bin/
	$(if $(BUILT),@: it is there,CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/agent-lsp)

setup: ## download what the tests need in addition to Go, Node and npm (caches are outside the checkout)
	scripts/setup.sh

# The setup waits for downloads, and the VS Code and chaos tests wait most of the time, so other work
# runs in parallel.
test: ## run all tests
	@$(MAKE) --no-print-directory -j2 --output-sync=line setup check-go
	@$(MAKE) --no-print-directory check-texts test-race
	@$(MAKE) --no-print-directory test-beside
	@echo "all tests passed"

test-beside: build
	@$(MAKE) --no-print-directory -j3 --output-sync=line BUILT=1 test-vscode chaos-ci test-in-turn

test-in-turn:
	@$(MAKE) --no-print-directory -j1 BUILT=1 test-heavy test-oracle bench-smoke test-others

quick: ## build, and check and test the Go packages that differ from main, in less than a minute
	@scripts/quick.sh

check: check-go check-texts ## check formatting, vet, staticcheck, errcheck, ineffassign, linters for TypeScript and Lua, unused code and options, style of texts, and types for all systems

# vet checks the types for this system, and typecheck checks them for the other systems. Only Linux
# has files for a single architecture, so typecheck checks a second architecture only for Linux.
check-go:
	@fmt=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$fmt" ] || { echo "gofmt would change:"; echo "$$fmt"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.0 ./...
	GO=$(GO) scripts/errcheck.sh
	$(GO) run github.com/gordonklaus/ineffassign@v0.2.0 ./...
	$(GO) run ./scripts/house
	$(GO) run ./scripts/typecheck linux/arm64 darwin/arm64 windows/amd64

check-texts:
	scripts/lua.sh
	"$$(scripts/biome.sh)" ci --colors=off --error-on-warnings .
	$(GO) run ./scripts/style

cross: ## check that all packages compile for every system for which releases are built
	$(GO) run ./scripts/typecheck

test-go: ## run all Go tests for quick feedback, without editors; long tests are smaller than in `make test`
	$(GO) test ./...

# Without atexit_sleep_ms=0, each process that a test starts sleeps for a second before it exits.
# The target omits vet, which `make check` runs, and debug information, which these tests do not
# need.
test-race: ## run all Go tests at full size under the race detector, with temporary folders on disk (TMPDIR or /tmp)
	TMPDIR=$${TMPDIR:-/tmp} AGENT_LSP_FULL=1 GORACE="$${GORACE:-atexit_sleep_ms=0}" $(GO) test -race -vet=off -ldflags=-w -timeout 60m ./...

test-heavy: ## test each attack in each sandbox, each endless stream, and floods at full size; other targets run a part of these tests
	$(GO) test -vet=off -count=1 -timeout 8m -run 'TestAttacks|TestEndless|TestFlood|TestBigResultOfAServer|TestNoProcessShowsTheDaemonsKeys' ./internal/tools/shell ./internal/model/... ./internal/cli

test-oracle: ## test the model adapters against the services' own SDKs (in a separate module)
	cd testdata/oracle && $(GO) vet . && $(GO) test -count=1 -timeout 2m .

# VS Code mostly waits, so the other editors are tested at the same time.
test-editors: build ## test all editors, ACP clients, and the documentation site
	@$(MAKE) --no-print-directory -j2 --output-sync=line BUILT=1 test-vscode test-others

test-others:
	@$(MAKE) --no-print-directory -j1 BUILT=1 test-neovim test-acp test-plain site

test-neovim: build ## test the Neovim plugin in the oldest and newest supported Neovim
	editors/neovim/tests/run.sh

test-vscode: build ## test the VS Code extension in a real workbench
	editors/vscode/test/run.sh

test-acp: build ## test the ACP server with the official client, acpx and the AI SDK, and run MCP's conformance suite
	AGENT_LSP_BIN=$(CURDIR)/$(BIN) editors/acp/run.sh

test-plain: build ## test editors without our plugins: Emacs with eglot and lsp-mode, Vim with ALE, VS Code with a generic client
	AGENT_LSP_BIN=$(CURDIR)/$(BIN) editors/plain/run.sh

fuzz: ## fuzz every parser for FUZZTIME (default 60s)
	scripts/fuzz.sh $(or $(FUZZTIME),60s)

chaos-ci: ## run chaos-engine, chaos-outside and chaos-kills in parallel, and print the counts
	@$(MAKE) --no-print-directory -j2 chaos-engine chaos-outside chaos-kills

chaos-engine: ## run the engine with random models, tools and users for two minutes (CHAOS=2m), at least 1,000 runs
	AGENT_LSP_CHAOS=$(or $(CHAOS),2m) $(GO) test -race -vet=off -ldflags=-w -count=1 -timeout 120m -run '^TestChaos$$' -v ./internal/agent

chaos-outside: ## kill the daemon, editors, commands and servers, fill disks and change files for three minutes (CHAOS=3m), at least 100 runs; WORLDS=4 runs four in parallel
	AGENT_LSP_CHAOS=$(or $(CHAOS),3m) AGENT_LSP_CHAOS_AT_ONCE=$(or $(WORLDS),1) $(GO) test -vet=off -count=1 -timeout 120m -run '^TestOutsideChaos$$' -v ./internal/cli

chaos-kills: ## kill KILLS daemons (default 100), and 100 processes that write a session store, at random points of scripted runs
	AGENT_LSP_KILLS=$(or $(KILLS),100) $(GO) test -vet=off -count=1 -timeout 120m -run '^(TestDaemonsKilledAtRandom|TestKilledAtRandom)$$' -v ./internal/cli ./internal/agent/session

chaos: ## run random runs and kills for longer (CHAOS=10m), and property tests with more cases (CASES=20000)
	AGENT_LSP_CHAOS=$(or $(CHAOS),10m) AGENT_LSP_KILLS=$(or $(KILLS),1000) $(GO) test -race -timeout 120m -run 'Chaos|Killed|Crash' -v ./internal/agent ./internal/agent/session ./internal/workspace ./internal/cli
	$(GO) test -timeout 120m ./internal/workspace/edit -rapid.checks=$(or $(CASES),20000)

docs: ## update the numbers, limits and settings in docs/
	UPDATE_DOCS=1 $(GO) test -count=1 -run 'Documented|ContextExample' ./internal/agent
	$(GO) test -count=1 ./internal/config -update
	UPDATE_DOCS=1 $(GO) test -count=1 -run "TablesOfEditors|CommandPage" ./internal/cli

soak: ## run a session of 100,000 messages, then 20 sessions at full speed (SOAK=5m), and plot their resource use
	AGENT_LSP_SOAK=1 $(GO) test -timeout 30m -run Soak -v ./internal/agent
	AGENT_LSP_SOAK_TIME=$(or $(SOAK),5m) $(GO) test -count=1 -timeout 120m -run '^TestSoak$$' -v ./internal/cli

bench: build ## run our benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-peers: build ## measure this program, its competitors (INSTALL=1 installs them from npm) and the minimum on the same tasks, and write docs/contribute/performance.md (ONLY=agentlsp,refdaemon)
	AGENTLSP_BIN=$(CURDIR)/$(BIN) OUT_DIR=$(CURDIR)/bin/peers bench/peers/run.sh $(if $(ONLY),-only $(ONLY)) $(BENCHFLAGS)
	rm -rf bin/peers/frontend-*
	for n in $$(seq $(FRONTENDS)); do AGENTLSP_BIN=$(CURDIR)/$(BIN) OUT_DIR=$(CURDIR)/bin/peers/frontend-$$n bench/peers/run.sh -only agentlsp,agentlsp-acp -long 0 -pairs 8 -groups 3 -cold 1 -streams 1 -bursts 1 -tool-turns 1 -aborts 1 > /dev/null || exit 1; done
	$(GO) run ./bench/perfdoc bin/peers/results.json $$(ls bin/peers/frontend-*/results.json) > bin/peers/performance.md
	mv bin/peers/performance.md docs/contribute/performance.md

site: ## build the documentation site into dist/site; dead links are errors
	cd docs/.vitepress && npm ci --no-audit --no-fund --ignore-scripts --silent && npm run --silent build

bench-smoke: ## run each benchmark once to check that it works
	@mkdir -p bin
	@$(GO) test -vet=off -run '^$$' -bench . -benchtime 1x ./... > bin/bench-smoke.log || { cat bin/bench-smoke.log; exit 1; }

release-dry-run: ## build a complete release into dist/ twice, install it into an empty home folder and play the demo
	scripts/release.sh

update: ## update the expected results of the session scripts and other golden files
	$(GO) test ./internal/cli -run TestSessions -update

generate: build ## write the clients' wire types and settings from the Go structs
	$(BIN) schema lua >editors/neovim/lua/agent_lsp/protocol.lua
	node editors/vscode/scripts/generate.mjs $(CURDIR)/$(BIN)

pictures: build ## recreate the documentation's pictures of VS Code with its tests
	editors/vscode/test/pictures.sh

clean: ## remove build results
	rm -rf bin dist
