// Package notify raises desktop notifications and is the only place that does.
//
// It promises:
//   - Text from outside is sanitized before it leaves this package, whichever way a desktop is reached: see [Sanitize].
//   - A hanging notification service delays nobody for more than five seconds, and costs at most one goroutine.
//   - Showing a notification starts no other program: no D-Bus daemon, and no shell if there is another way.
//
// On Linux it talks to the notification service over its own D-Bus connection: godbus's shared one, which the tray and the
// keyring use, would start a stray D-Bus daemon if there is none. It asks the service for its capabilities, because that is
// the only way to escape markup exactly once. On Windows it shows toasts; on macOS it uses beeep as it is.
//
// Where the desktop supports it, a notification has buttons, and a press on it or on one of them is reported
// ([Notifier.OnClick]). On Linux a press counts only if it comes from the service that showed the notification, and only in
// the run of the program that raised it. On Windows it may come from an earlier run, so the toast itself says what it is
// about, and the receiver checks whether that exists.
//
// It does not know what it tells and to whom, what was told before, or whether anyone looks: the caller ensures that there
// is one notification per fact.
package notify
