// Package secret keeps the office's one 256-bit key and seals values with it.
//
// The key lives in the keyring of the operating system ([Keyring]) or, where there is none, in a file ([File]).
// Everything else that is secret is sealed under it by a [Box] and kept wherever the caller likes: keyrings cap
// sizes, prompt, hang, and cannot commit together with other state.
//
// What it promises:
//
//   - A key has three states. Present: Load returns it. Absent: Load says [ErrAbsent], and the place was really
//     looked into. Unavailable ([ErrUnavailable]): anything else, such as locked, no bus, unreadable, or no answer
//     within three seconds. Unavailable never becomes absent.
//   - No key is ever overwritten, and none is deleted but by [Forget].
//   - A key shows itself nowhere: not in logs, errors, JSON or fmt verbs.
//
// What it must not know: what is sealed, where it is stored, and the window.
package secret
