// Package harness is what the end-to-end tests hold the program with. It builds the program and runs it as a process of its
// own, with all that a person's computer has around it: a session with a D-Bus, a keyring and a notification server
// (Desktop), a display whose windows are looked at, clicked and dropped on (Window, Dragger), a tray (Tray), the desktop's file dialog (Portal), a browser
// (Chromium), a public address (Front, Ngrok), and `countersign sandbox` as the service (Service). Office joins them for one
// data folder.
//
// It promises that what a test starts has ended when the test has, and that what cannot be started fails the test by its
// name. Whatever it waits for it waits for Patience, since all of it is in other processes.
//
// It must not know what the tests promise, nor how the program works inside: of this module it imports only the
// stand-ins for ngrok's servers and for a portal. It works on Linux.
package harness
