// Package sessionbus connects to the D-Bus session bus. Unlike the library's own function, it obeys its context and starts
// no bus. Windows and macOS have no session bus.
package sessionbus
