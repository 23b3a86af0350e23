# Recipes are one line. What is longer is a script under scripts/ or a program under cmd/.
SHELL := /bin/bash
DEV   := .tiffin/bin/dev

.DEFAULT_GOAL := help
.PHONY: help run test check e2e race fuzz sim model mutants bench gen migrate psql build setup clean dev

help: ## print this
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start the shop with everything it needs; Ctrl-C stops it all (ARGS=-once: no rebuilding on change)
	@scripts/setup postgres && $(MAKE) --no-print-directory dev && exec $(DEV) run $(ARGS)

test: ## set up what tests need and run every test: all packages, browser, race detector, torture, fuzzing, models
	@scripts/setup postgres browser npm spin && $(MAKE) --no-print-directory dev && exec $(DEV) with-db -- scripts/test

check: ## formatting, vet, staticcheck, generated files, migrations, arrows
	@scripts/check

e2e: ## run the browser tests alone
	@scripts/setup postgres browser npm && $(MAKE) --no-print-directory dev && exec $(DEV) with-db -- scripts/test e2e

race: ## run the money's tests under the race detector alone
	@scripts/setup postgres && $(MAKE) --no-print-directory dev && exec $(DEV) with-db -- scripts/test race

fuzz: ## fuzz each target, FUZZ_SECONDS=8 long
	@scripts/setup postgres && $(MAKE) --no-print-directory dev && exec $(DEV) with-db -- scripts/test fuzz

sim: ## torture the shop, docs/torture.md: SEED=1 ROUNDS=500 or FOR=1h
	@scripts/setup postgres && $(MAKE) --no-print-directory dev && exec $(DEV) torture $(if $(SEED),-seed $(SEED)) $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(FOR),-for $(FOR))

mutants: ## take each guard of the money away and see its test fail, docs/mutants.md: ONLY='part of a name'
	@scripts/setup postgres && $(MAKE) --no-print-directory dev && exec $(DEV) mutants $(if $(ONLY),-only '$(ONLY)')

bench: ## measure, and print the table of docs/performance.md
	@scripts/setup postgres && exec scripts/test bench

model: ## check the protocol models with Spin, and find every mistake planted in them
	@scripts/setup spin && exec scripts/model

gen: ## write *_templ.go from *.templ
	@go tool templ generate

migrate: ## bring the database of `make run` up to this build's schema
	@scripts/setup postgres && $(MAKE) --no-print-directory dev && exec $(DEV) migrate

psql: ## open the database of `make run`
	@scripts/setup postgres && $(MAKE) --no-print-directory dev && exec $(DEV) psql

build: ## build the shop into ./tiffin
	@go build -trimpath -o tiffin ./cmd/web

setup: ## find or install PostgreSQL's server programs, a browser, the npm packages and Spin
	@scripts/setup postgres browser npm spin

clean: ## remove what was built and downloaded here; the database of `make run` stays
	@rm -rf tiffin .tiffin/bin && find . -name node_modules -prune -exec rm -rf {} +

dev:
	@go build -o $(DEV) ./cmd/dev
