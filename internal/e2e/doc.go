// Package e2e holds the end-to-end tests: they drive the real program as its users do, from outside, and nothing else is
// in it.
//
// What they promise: every part is real. The program is built from this module and run as a process of its own, with
// its keys in a gnome-keyring, its notifications on a private D-Bus, its tray read through a StatusNotifierWatcher, its
// window on an X server, its sign-in walked by an HTTP client and by Chromium, and `countersign sandbox` as the service,
// also a process of its own. Nothing leaves this computer, and whatever a test starts has ended when it returns.
//
// What they must not know: how the program works inside. They read what it prints, `status --json`, the files it saves
// and what the service says it was asked; of this module they import only what holds the program, packages harness and powercut, and, to
// have 50,000 packages to measure with, the store.
//
// A test is named after the promise it keeps, and its file after the topic. One test alone:
//
//	go test ./internal/e2e -run TestTheWholeJob$
//
// Variables help a developer: COUNTERSIGN_E2E_SEED makes the choices of an earlier run of interruptions again,
// COUNTERSIGN_E2E_TORTURE says for how long to go on with them (`make torture`), COUNTERSIGN_E2E_CUTS how many there are and that
// the power must be able to fail (`make powercut`), and COUNTERSIGN_E2E_PICTURES names a folder for a picture of each window
// whose test fails.
//
// They run on Linux and need the Debian packages that `make test` installs; a missing one fails them by name. Where nothing
// can be mounted, as there is no FUSE, the program is killed, but the power does not fail.
package e2e
