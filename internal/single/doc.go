// Package single keeps a data folder to one running instance, and lets other processes of the same user talk to that
// instance: HTTP over a Unix socket, or over a named pipe on Windows.
//
// It promises:
//   - At most one [Instance] holds a data folder. The lock belongs to the process, not to a file's presence: it is gone the
//     moment the process is, however it ended.
//   - Whoever fails with [ErrRunning] can reach the other at once with [Client]: the socket is there before Acquire returns.
//   - Only the same user is let in, by the rights of the socket and by asking the system who is at the other end; a client
//     asks the same about the server. A socket is replaced by the holder of the lock alone.
//   - On Windows, where a program that runs cannot be replaced, an installer ends all that run from its file ([EndOthers]).
//
// It does not know what is said over the socket, and touches nothing in the data folder but its lock and its socket.
package single
