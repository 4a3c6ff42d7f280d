// Package store keeps everything Countersign must not forget: events, packages, save jobs, drafts, the activity
// list, settings and sealed values, in one bbolt file in the office's data folder.
//
// What it promises:
//
//   - [Store.Update] returns nil only when its changes are on disk. Whatever it acknowledged survives kill -9 and a
//     loss of power, as far as the disk tells the truth.
//   - An Update happens as a whole or not at all, and one that fails or panics does not harm those that share its
//     commit.
//   - Counters and indexes always agree with the records: all three change in one transaction, in one place
//     (facets.go).
//   - A file written by a newer version, in use by another process or damaged is never changed.
//   - Opening reads a handful of pages, however many records there are.
//
// Identifiers come from outside. They are keys here and never paths; an empty one is refused, a very long one is
// kept under its hash. Times are stored and returned in UTC.
//
// What it must not know: the network, the window, and keys. Sealed values are bytes that someone else sealed.
package store
