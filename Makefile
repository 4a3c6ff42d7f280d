# Countersign. `make demo` shows the whole job; `make test` runs the tests of the program, `make test-shipping` those of
# what is shipped. They install what they need from Debian's or Ubuntu's packages, and nothing else is downloaded but Go
# modules. assets/docs/develop.md has the variables.

# The oldest Go that fetches the one that go.mod names is 1.21. Older ones, such as Debian 12's own, only say that they cannot read it.
GO := $(word 3,$(shell go version 2>/dev/null))
ifneq ($(or $(if $(GO),,none),$(filter go1.1% go1.20%,$(GO))),)
$(error Countersign needs Go 1.21 or later, which fetches the version that it needs; here is $(or $(GO),none). See https://go.dev/doc/install)
endif

VERSION ?= $(shell git -c safe.directory='*' describe --tags --always --dirty 2>/dev/null || echo dev)
BINARY  := build/countersign
SERVER  := build/countersign-server

# Go need not ask git: the version comes from here, also where somebody else owns the tree, as in a container.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -buildvcs=false)

# cgo has GCC guess at each of OpenGL's thousands of names that is not declared, which took nine tenths of compiling it.
CGO_CFLAGS ?= -O2 -g -D__cgo_undefined__2=_GoBytes_
export CGO_CFLAGS

BUILD_PACKAGES := gcc libc6-dev pkg-config libgl1-mesa-dev xorg-dev libxkbcommon-dev libwayland-dev
TEST_PACKAGES  := xvfb openbox xdotool dbus gnome-keyring chromium imagemagick libgl1-mesa-dri

# Tested without the race detector: what links Fyne's driver (its C code would be compiled once more), the end-to-end tests, what
# draws hundreds of pictures (over ten minutes with it), and the simulation, whose goroutines take turns.
PLAIN := . ./ui ./ui/motion ./ui/opengl ./ui/window ./ui/packages ./ui/settings ./ui/compose ./internal/e2e ./internal/sim

.PHONY: all build first-build server demo no-display test torture powercut simulate simulate-year simulate-faults bench check vulncheck \
	clean build-packages test-packages windows deb rpm tar macos release renew test-shipping

all: build

build: first-build build-packages
	go build -ldflags '-X main.version=$(VERSION)' -o $(BINARY) .

first-build:
	@test -e $(BINARY) || echo 'Building Countersign. The first time its graphics library is compiled too, which takes a few minutes; later it takes seconds.'

# The same program without its window, for servers: needs no C compiler, no OpenGL and no package of the system.
server:
	@test -e $(SERVER) || echo 'Building Countersign without its window. The first time takes about a minute, later ones take seconds.'
	CGO_ENABLED=0 go build -ldflags '-X main.version=$(VERSION)' -o $(SERVER) ./internal/server

# Where there is no display for a window, the demo is that of the servers' program, which runs the same job as text.
WINDOW := $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Windows_NT,$(OS)),$(filter Darwin,$(shell uname -s)))

demo: $(if $(WINDOW),build,no-display server)
	$(if $(WINDOW),$(BINARY),$(SERVER)) demo --dir build/demo

no-display:
	@echo 'There is no display here (DISPLAY and WAYLAND_DISPLAY are not set): the demo runs as text, without the window.'

# Everything; `go test ./...` alone leaves out what takes long or needs more than Go and a C compiler (internal/fasttest). Not vetted
# here: check does that. One package more at a time than there are usually processors: the slowest tests mostly wait.
test: first-build build-packages test-packages
	@test -w /dev/fuse || echo 'There is no FUSE here (/dev/fuse): what the program loses when the power fails is NOT tested.' >&2
	COUNTERSIGN_TESTS=all go test -vet=off -p 3 -race -timeout 20m $$(go list ./... | grep -vxF "$$(go list $(PLAIN))")
	COUNTERSIGN_TESTS=all go test -vet=off -p 3 -timeout 20m $(PLAIN)

# What make test does for seconds, for TIME.
TIME ?= 5m
CUTS ?= 500
DAYS ?= 365
LIVES := go test -count=1 -timeout 0 -v ./internal/sim

torture: build-packages test-packages
	COUNTERSIGN_E2E_TORTURE=$(TIME) COUNTERSIGN_E2E_SEED=$(SEED) go test -count=1 -timeout 4h -v \
		-run 'NothingIsLost|Strangers|SignedNonsense|Hostile|SecretsAre|ManySends|ItQuits' ./internal/e2e
	go test -count=1 -timeout 1h -v -run ManyMissed ./internal/agent

powercut: build-packages test-packages
	COUNTERSIGN_E2E_CUTS=$(CUTS) COUNTERSIGN_E2E_SEED=$(SEED) go test -count=1 -timeout 4h -v -run NothingIsLost ./internal/e2e

simulate:
	COUNTERSIGN_SIM_PACKAGES=$(PACKAGES) COUNTERSIGN_SIM_TIME=$(TIME) COUNTERSIGN_SIM_SEED=$(SEED) $(LIVES) -run '^TestSimulate$$'

simulate-year:
	COUNTERSIGN_SIM_TIME=1h COUNTERSIGN_SIM_YEAR=$(DAYS) COUNTERSIGN_SIM_DAYS=31 COUNTERSIGN_SIM_SEED=$(SEED) $(LIVES) -run '^TestSimulate$$'

simulate-faults:
	COUNTERSIGN_SIM_FAULTS=1m COUNTERSIGN_SIM_FAULT=$(FAULT) COUNTERSIGN_SIM_SEED=$(SEED) $(LIVES) -run '^TestPlantedFaultsAreFound$$'

# Measures the program beside what it cannot do without, on this machine.
bench: build-packages test-packages
	go test -run '^$$' -bench . ./internal/inbox ./internal/store ./internal/archive
	go test -run '^$$' -bench . -benchtime 5x -timeout 1h ./internal/agent
	go test -run '^$$' -bench . -benchtime 1x -timeout 1h ./internal/e2e
	go test -run '^$$' -bench 'In50000$$' ./ui/packages

# What a reader would miss and no test sees. What only tests reach belongs to them, but for what is there for tests (packages called
# ...test, the harness, the disks that forget or are small, the controls of the embedded service, the list of health states), the forms
# of other systems, and what encoding/json finds by reflection alone.
FOR_TESTS := (test|harness|powercut|smalldisk)/|^internal/notify/toast\.go|^internal/(sandbox/control|agent/health/registry)\.go|^ui/(system/(autostart_forms|takeover)|drop/descriptor)\.go|^internal/proxy/(alone|list|scutil)\.go|func: (DropSilent|Issue\.UnmarshalJSON)$$

check: build-packages
	@odd=$$(gofmt -l .) && test -z "$$odd" || (printf 'gofmt: not formatted:\n%s\n' "$$odd" >&2; false)
	go vet ./...
	go tool staticcheck ./...
	@dead=$$(go tool deadcode -test ./...) && test -z "$$dead" || (printf 'deadcode: nothing calls\n%s\n' "$$dead" >&2; false)
	@tests=$$(go tool deadcode ./...) && tests=$$(echo "$$tests" | sed -E '\@$(FOR_TESTS)@d') && test -z "$$tests" || \
		(printf 'deadcode: tests alone call\n%s\n' "$$tests" >&2; false)

# Known faults in Go and in the modules, from vuln.go.dev, or a copy of it that VULNDB names (file:///...).
VULNDB ?= https://vuln.go.dev
vulncheck: build-packages
	go tool govulncheck -db $(VULNDB) ./...

clean:
	rm -rf build

# What is shipped. ARCH is another kind of processor than this computer's, arm64 or amd64. Without VERSION these are called as git
# describes the tree; what a release is called, its maker says. test-shipping installs all of it in Wine, in a fresh Debian and in an
# empty home, and builds it twice.
export ACCESSIBILITY
RELEASE := go run ./internal/release $(if $(filter command line environment,$(origin VERSION)),--set-version '$(VERSION)') $(if $(ARCH),--arch $(ARCH))

windows deb rpm tar macos release renew test-shipping: build-packages
	@needs=$$($(RELEASE) needs $@) && { $(call install,$$needs); }
	$(if $(filter test-shipping,$@),go vet -tags shipping ./internal/release && go test -tags shipping -count=1 -timeout 60m -v ./internal/release,$(RELEASE) $@)

build-packages:
	@$(call install,$(BUILD_PACKAGES))

test-packages:
	@$(call install,$(TEST_PACKAGES))

# install installs those of the packages $(1) that are missing; elsewhere than on Debian and Ubuntu it names them.
define install
missing=""; for p in $(1); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
if [ -n "$$missing" ] && command -v apt-get >/dev/null; then \
  as=""; [ "$$(id -u)" = 0 ] || as=sudo; \
  echo "Installing:$$missing"; \
  if [ -n "$$as" ] && ! { command -v sudo && sudo true; } >/dev/null; then \
    echo "Ask an administrator to run: apt-get install --no-install-recommends$$missing" >&2; exit 1; fi; \
  $$as apt-get update -qq && $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
elif [ -n "$$missing" ]; then echo "This system has no apt-get; install the equivalents of:$$missing" >&2; fi
endef
