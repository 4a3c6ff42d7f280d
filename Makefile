# Countersign. `make demo` shows a complete run; `make test` tests the program, `make test-shipping` the shipped packages. They
# install what they need from Debian's or Ubuntu's packages, and download nothing else but Go modules. assets/docs/develop.md
# lists the variables.

# Go 1.21 is the oldest version that fetches the one named in go.mod. Older ones, such as Debian 12's own, only fail to read it.
GO := $(word 3,$(shell go version 2>/dev/null))
ifneq ($(or $(if $(GO),,none),$(filter go1.1% go1.20%,$(GO))),)
$(error Countersign needs Go 1.21 or later, which fetches the version that it needs; here is $(or $(GO),none). See https://go.dev/doc/install)
endif

VERSION ?= $(shell git -c safe.directory='*' describe --tags --always --dirty 2>/dev/null || echo dev)

# The version comes from above, so Go need not ask git, which refuses if the tree has another owner, as in a container.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -buildvcs=false)
# Without this define, cgo makes GCC try each of OpenGL's thousands of undeclared names, which took nine tenths of its build time.
export CGO_CFLAGS ?= -O2 -g -D__cgo_undefined__2=_GoBytes_

# Tested without the race detector: packages that link Fyne's driver (its C code would be compiled again), that only run other
# programs, or that draw hundreds of pictures (over ten minutes with it), the simulation, whose goroutines take turns, and the
# comparison of documents, which has no goroutines.
PLAIN := . ./ui ./ui/motion ./ui/opengl ./ui/window ./ui/packages ./ui/settings ./ui/compose ./internal/e2e ./internal/server ./internal/release ./internal/house ./internal/sim ./internal/compare

.PHONY: build server demo no-display test torture powercut simulate simulate-faults simulate-mutants mutate bench check vulncheck clean windows deb rpm tar macos release renew test-shipping

build: build-packages
	@test -e build/countersign || echo 'Building Countersign. The first time its graphics library is compiled too, which takes a few minutes; later it takes seconds.'
	go build -ldflags '-X main.version=$(VERSION)' -o build/countersign .

# The program without its window, for servers: it needs no C compiler, no OpenGL and no system package.
server:
	@test -e build/countersign-server || echo 'Building Countersign without its window. The first time takes about a minute, later ones take seconds.'
	CGO_ENABLED=0 go build -ldflags '-X main.version=$(VERSION)' -o build/countersign-server ./internal/server

# Without a display the demo uses the server program, which does the same as text.
WINDOW := $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Windows_NT,$(OS)),$(filter Darwin,$(shell uname -s)))
demo: $(if $(WINDOW),build,no-display server)
	build/countersign$(if $(WINDOW),,-server) demo --dir build/demo
no-display: ; @echo 'There is no display here (DISPLAY and WAYLAND_DISPLAY are not set): the demo runs as text, without the window.'

# All tests; `go test ./...` alone skips those that take long or need more than Go and a C compiler (internal/fasttest). Not vetted
# here: check does that. -p 3 is one more than the usual number of processors, because the slowest tests mostly wait. The race
# detector would make scrypt nine times as slow.
test: test-packages
	@test -w /dev/fuse || echo 'There is no FUSE here (/dev/fuse): what the program loses when the power fails is NOT tested.' >&2
	go test -run . -vet=off -p 3 -race -gcflags=golang.org/x/crypto/scrypt=-race=false -timeout 20m $$(go list ./... | grep -vxF "$$(go list $(PLAIN))")
	go test -run . -vet=off -p 3 -timeout 20m $(PLAIN)

# Runs for TIME what make test runs for seconds; SEED repeats a run.
TIME ?= 5m
LONG := COUNTERSIGN_E2E_SEED=$(SEED) COUNTERSIGN_SIM_SEED=$(SEED) go test -count=1 -timeout 0 -v
torture: test-packages
	COUNTERSIGN_E2E_TORTURE=$(TIME) $(LONG) -run 'NothingIsLost|Strangers|SignedNonsense|Hostile|SecretsAre|ManySends|ItQuits' ./internal/e2e
	$(LONG) -run ManyMissed ./internal/agent
powercut: test-packages
	COUNTERSIGN_E2E_CUTS=$(or $(CUTS),500) $(LONG) -run NothingIsLost ./internal/e2e
simulate:
	COUNTERSIGN_SIM_TIME=$(TIME) COUNTERSIGN_SIM_PACKAGES=$(PACKAGES) COUNTERSIGN_SIM_YEAR=$(YEAR) $(LONG) -run '^TestSimulate$$' ./internal/sim
simulate-faults:
	COUNTERSIGN_SIM_FAULTS=1m COUNTERSIGN_SIM_FAULT=$(FAULT) $(LONG) -run '^TestPlantedFaultsAreFound$$' ./internal/sim
mutate:
	go run ./internal/house/mutate -seed $(or $(SEED),1) -sample $(or $(SAMPLE),50) $(PKG)
# Like mutate, but only the simulation must find the changes, in lives with seeds from 1505 on, which read JSON as those of simulate do.
simulate-mutants:
	GOEXPERIMENT=jsonv2 COUNTERSIGN_SIM_TURNS=1 COUNTERSIGN_SIM_PLANTED=chance COUNTERSIGN_SIM_PART=0/1 COUNTERSIGN_SIM_SEED=1505 COUNTERSIGN_SIM_TIME=$(or $(TIME),1m) \
	go run ./internal/house/mutate -tests internal/sim -run '^TestSimulate$$' -all -limit 3h -seed $(or $(SEED),1) -sample $(or $(SAMPLE),50) \
	$(or $(PKG),internal/inbox $(addprefix internal/agent/,outbox reconcile download announce webhook withdraw hotfolder account apply))

# Measures the program against the minimum that its work requires, on this machine.
bench: test-packages
	go test -run '^$$' -bench . ./internal/inbox ./internal/store ./internal/archive
	go test -run '^$$' -bench . -benchtime 5x -timeout 1h ./internal/agent
	go test -run '^$$' -bench . -benchtime 10000x -timeout 1h ./internal/agent/desks
	go test -run '^$$' -bench . -benchtime 1x -timeout 1h ./internal/e2e
	go test -run '^$$' -bench 'In50000$$' ./ui/packages

check: build-packages
	@odd=$$(gofmt -l .) && test -z "$$odd" || (printf 'gofmt: not formatted:\n%s\n' "$$odd" >&2; false)
	go vet ./...
	go tool staticcheck ./...
# Known vulnerabilities in Go and in the modules, from vuln.go.dev, or from a copy named by VULNDB (file:///...).
vulncheck: build-packages
	go tool govulncheck -db $(or $(VULNDB),https://vuln.go.dev) ./...

# The shipped packages, for ARCH (amd64, arm64), with VERSION or the version from git describe; a release needs an explicit one.
# test-shipping installs all of them in Wine, in a fresh Debian and in an empty home, and builds them twice.
RELEASE := go run ./internal/release $(if $(filter command line environment,$(origin VERSION)),--set-version '$(VERSION)') $(if $(ARCH),--arch $(ARCH))

windows deb rpm tar macos release renew test-shipping: build-packages
	@needs=$$($(RELEASE) needs $@) && .ci/install $$needs
	$(if $(filter test-shipping,$@),go vet -tags shipping ./internal/release && go test -tags shipping -count=1 -timeout 60m -v ./internal/release,$(RELEASE) $@)

clean: ; rm -rf build
build-packages:
	@.ci/install gcc libc6-dev pkg-config libgl1-mesa-dev xorg-dev libxkbcommon-dev libwayland-dev
test-packages: build-packages
	@.ci/install xvfb openbox xdotool dbus gnome-keyring chromium imagemagick openssl poppler-utils xxd libgl1-mesa-dri
