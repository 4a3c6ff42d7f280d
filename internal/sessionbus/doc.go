// Package sessionbus connects to the D-Bus of a person's session, as the system's own call should: it keeps to its context
// and starts no bus. Windows and macOS have none.
package sessionbus
