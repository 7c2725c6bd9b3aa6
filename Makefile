# logkit: build, test and install. `make help` lists the targets.

GO        ?= go
PREFIX    ?= /usr/local
BINDIR    ?= $(PREFIX)/bin
SBINDIR   ?= $(PREFIX)/sbin
MANDIR    ?= $(PREFIX)/share/man
BASHDIR   ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR    ?= $(PREFIX)/share/zsh/site-functions
FISHDIR   ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR   ?= $(PREFIX)/lib/systemd/system
BIN       ?= bin
FUZZTIME  ?= 20s
BENCHTIME ?= 1s

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# The tag leaves a Markdown renderer out that only generated manuals would need.
BUILD    = CGO_ENABLED=0 $(GO) build -trimpath -tags urfave_cli_no_docs \
           -ldflags '-s -w -X logkit/lib/cli.Version=$(VERSION)'

TOOLS := $(patsubst cmd/%/main.go,%,$(wildcard cmd/*/main.go))
BINS  := $(addprefix $(BIN)/,$(TOOLS))

all: build

help: ## this list
	@sed -n 's/^\([a-z]*\): .*## /\1\t/p' $(MAKEFILE_LIST)

build: $(BINS) ## the tools, into bin/

# Go knows what has changed; make does not.
$(BINS): $(BIN)/%: FORCE
	$(BUILD) -o $@ ./cmd/$*

demo: build ## start a broker, send a real log through it, and show what happens
	sh testdata/demo

test: packages ## everything, under the race detector
	$(GO) test -race -timeout 20m ./...
	$(GO) test -run TestClientLivesThroughCrash ./lib/zkserver
	$(GO) test -timeout 10m ./lib/registry ./lib/consumer
	$(GO) test -C testdata/interop -count=1 -timeout 10m

race: test

packages:
	@sh testdata/debian/install

lint: ## formatting, vet, staticcheck, shell scripts, manual pages
	@unformatted=$$(gofmt -l cmd lib testdata); test -z "$$unformatted" || { echo "gofmt would change:" $$unformatted >&2; exit 1; }
	$(GO) vet ./...
	$(GO) vet -C testdata/interop
	$(GO) tool -modfile=testdata/lint/go.mod staticcheck ./...
	cd testdata/interop && $(GO) tool -modfile=../lint/go.mod staticcheck .
	shellcheck testdata/demo testdata/systemd testdata/debian/install .ci/run
	command -v mandoc && ! mandoc -T lint man/*.[1-8] | grep -v 'referenced manual not found'

check: packages lint test ## what must be green before a change goes in

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

bench: ## Go benchmarks, with allocations
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

soak: packages ## the long runs
	LOGKIT_SOAK=1 $(GO) test -timeout 4h ./...

systemd: ## boot a Debian with systemd, as root, and run the unit in it
	sh testdata/systemd

docs: ## write the completions again from the flags
	$(GO) test ./cmd/... -run Docs -update

# A blank or a quote in a path has to come through two programs: the shell, and for the unit sed and systemd as well.
quote  = '$(subst ','\'',$(1))'
placed = $(call quote,$(DESTDIR)$(1))
sbindir_in_unit = $(subst |,\|,$(subst &,\&,$(subst \,\\,$(subst %,%%,$(subst ",\",$(subst \,\\,$(SBINDIR)))))))

# The directories above those that are named get their mode from the umask.
install: build ## the tools, manual pages, completions and a systemd unit, into DESTDIR/PREFIX
	@set -e; umask 022; \
	for dir in $(call placed,$(BINDIR)) $(call placed,$(SBINDIR)) $(call placed,$(BASHDIR)) $(call placed,$(ZSHDIR)) \
		$(call placed,$(FISHDIR)) $(call placed,$(UNITDIR)); do install -d "$$dir"; done; \
	for tool in $(TOOLS); do \
		case $$tool in logd) dir=$(call placed,$(SBINDIR)) ;; *) dir=$(call placed,$(BINDIR)) ;; esac; \
		install -m 755 $(call quote,$(BIN))/$$tool "$$dir"/$$tool; \
		install -m 644 completions/$$tool.bash $(call placed,$(BASHDIR))/$$tool; \
		install -m 644 completions/_$$tool $(call placed,$(ZSHDIR))/_$$tool; \
		install -m 644 completions/$$tool.fish $(call placed,$(FISHDIR))/$$tool.fish; \
	done; \
	for page in man/*.[1-8]; do \
		section=$(call placed,$(MANDIR))/man$${page##*.}; \
		install -d "$$section"; \
		install -m 644 $$page "$$section"/; \
	done; \
	sed $(call quote,s|@SBINDIR@|$(sbindir_in_unit)|) cmd/logd/logd.service >$(call placed,$(UNITDIR))/logd.service; \
	chmod 644 $(call placed,$(UNITDIR))/logd.service

uninstall: ## what install has put there
	@set -e; for tool in $(TOOLS); do \
		rm -f $(call placed,$(BINDIR))/$$tool $(call placed,$(SBINDIR))/$$tool $(call placed,$(BASHDIR))/$$tool \
			$(call placed,$(ZSHDIR))/_$$tool $(call placed,$(FISHDIR))/$$tool.fish; \
	done
	@set -e; for page in man/*.[1-8]; do rm -f $(call placed,$(MANDIR))/man$${page##*.}/$${page##*/}; done
	@rm -f $(call placed,$(UNITDIR))/logd.service

clean:
	rm -rf $(BIN)

FORCE:
.PHONY: all help build demo test race packages lint check fuzz bench soak systemd docs install uninstall clean FORCE
