// Package harness supports the end-to-end tests. It builds the program and runs it as its own process, with everything that
// surrounds it on a person's computer: a session with a D-Bus, a keyring and a notification service (Desktop), a display
// whose windows can be looked at, clicked and dropped on (Window, Dragger), a tray (Tray), the desktop's file dialog
// (Portal), a browser (Chromium), a public address (Front, Ngrok), and `countersign sandbox` as the service (Service).
// Office combines them for one data folder.
//
// It promises that what a test starts has ended when the test has, and that a missing tool fails the test with its name. It
// waits up to Patience for everything, because all of it happens in other processes.
//
// It must not know what the tests promise, nor how the program works inside: of this module it imports only the stand-ins
// for ngrok's servers and for a portal. It works on Linux.
package harness
