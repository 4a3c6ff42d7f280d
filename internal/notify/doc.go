// Package notify raises desktop notifications and is the only place that does.
//
// It promises:
//   - Text from outside is sanitized when it leaves this package, on every path a desktop offers: see [Sanitize].
//   - A notification service that hangs holds up nobody for longer than five seconds, and costs one goroutine at most.
//   - Nothing starts because of it: no D-Bus daemon, no shell where there is another way.
//
// On Linux it talks to the notification service over a D-Bus connection of its own: godbus's shared one, which the tray and the
// keyring live on too, would start a stray D-Bus daemon where there is none. Asking the service what it understands is the only
// way to escape markup neither twice nor never. On Windows it shows toasts; on macOS it is beeep as it is.
//
// Where the desktop can, a notification has buttons, and a press on it or on one of them is passed on ([Notifier.OnClick]).
// On Linux a press counts only from the very service that showed the notification, and only while the program runs that
// raised it. On Windows it may be one of an earlier start; so it says itself what it is about, and whoever is told looks up
// whether there is such a thing.
//
// It does not know what it tells and to whom, what was told before, or whether anyone looks: one notification per fact is
// the caller's promise.
package notify
