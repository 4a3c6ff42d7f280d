// Package e2e contains the end-to-end tests: they drive the real program from outside, as its users do. It contains nothing
// else.
//
// What they promise: every part is real. The program is built from this module and run as its own process, with its keys in
// a gnome-keyring, its notifications on a private D-Bus, its tray read by a StatusNotifierWatcher, its window on an X
// server, its sign-in performed by an HTTP client and by Chromium, and `countersign sandbox` as the service, also as its own
// process. Nothing leaves this computer, and whatever a test starts has ended when the test returns.
//
// What they must not know: how the program works inside. They read its output, `status --json`, the files it saves and the
// service's log of requests. Of this module they import only their own helpers, packages harness and powercut, and the
// store, to generate 50,000 packages for measurements.
//
// A test is named after the promise it checks, and its file after the topic. To run one test:
//
//	go test ./internal/e2e -run TestTheWholeJob$
//
// Environment variables: COUNTERSIGN_E2E_SEED repeats the choices of an earlier run with interruptions,
// COUNTERSIGN_E2E_TORTURE says how long to continue with them (`make torture`), COUNTERSIGN_E2E_CUTS sets their number and
// requires power cuts (`make powercut`), and COUNTERSIGN_E2E_PICTURES names a folder for a picture of each window whose test
// fails.
//
// They run on Linux and need the Debian packages that `make test` installs; if one is missing, they fail with its name.
// Without FUSE nothing can be mounted: then the program is killed, but there are no power cuts.
package e2e
