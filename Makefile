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
	shellcheck testdata/demo testdata/debian/install .ci/run
	mandoc -T lint -W warning man/*.[1-8]

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

docs: ## write the completions again from the flags
	$(GO) test ./cmd/... -run Docs -update

install: build ## the tools, manual pages, completions and a systemd unit, into DESTDIR/PREFIX
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(SBINDIR) $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	@set -e; for tool in $(TOOLS); do \
		case $$tool in logd) dir=$(SBINDIR) ;; *) dir=$(BINDIR) ;; esac; \
		install -m 755 $(BIN)/$$tool $(DESTDIR)$$dir/$$tool; \
		install -m 644 completions/$$tool.bash $(DESTDIR)$(BASHDIR)/$$tool; \
		install -m 644 completions/_$$tool $(DESTDIR)$(ZSHDIR)/_$$tool; \
		install -m 644 completions/$$tool.fish $(DESTDIR)$(FISHDIR)/$$tool.fish; \
	done
	@set -e; for page in man/*.[1-8]; do \
		section=$(DESTDIR)$(MANDIR)/man$${page##*.}; \
		install -d $$section; \
		install -m 644 $$page $$section/; \
	done
	install -d $(DESTDIR)$(UNITDIR)
	sed 's|@SBINDIR@|$(SBINDIR)|' cmd/logd/logd.service >$(DESTDIR)$(UNITDIR)/logd.service
	chmod 644 $(DESTDIR)$(UNITDIR)/logd.service

uninstall: ## what install has put there
	@set -e; for tool in $(TOOLS); do \
		rm -f $(DESTDIR)$(BINDIR)/$$tool $(DESTDIR)$(SBINDIR)/$$tool $(DESTDIR)$(BASHDIR)/$$tool \
			$(DESTDIR)$(ZSHDIR)/_$$tool $(DESTDIR)$(FISHDIR)/$$tool.fish; \
	done
	@set -e; for page in man/*.[1-8]; do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}; done
	rm -f $(DESTDIR)$(UNITDIR)/logd.service

clean:
	rm -rf $(BIN)

FORCE:
.PHONY: all help build demo test race packages lint check fuzz bench soak docs install uninstall clean FORCE
