// Package store keeps everything Countersign must not forget: events, packages, save jobs, drafts, the activity
// list, settings and sealed values, in one bbolt file in the office's data folder.
//
// What it promises:
//
//   - [Store.Update] returns nil only when its changes are flushed to the disk. Whatever it acknowledged survives
//     kill -9: that is tested. A loss of power is another thing, of which kill -9 shows nothing; bbolt flushes what it
//     takes to survive one, on a disk that tells the truth about it.
//   - An Update happens as a whole or not at all, and one that fails or panics does not harm those that share its
//     commit.
//   - Counters and indexes always agree with the records: all three change in one transaction, in one place
//     (facets.go).
//   - Open changes no file that a newer version wrote, that another process uses, or that it finds damaged.
//   - Opening reads the list of free pages and a handful of others, however many records there are; but for the once that
//     brings an older file up to date, or makes one smaller that has become mostly free (compact.go).
//   - What is forgotten (forget.go) is old by the days on which the program ran, whatever the clock says.
//
// Identifiers come from outside. They are keys here and never paths; an empty one is refused, a very long one is
// kept under its hash. Times are stored and returned in UTC.
//
// What it must not know: the network, the window, and keys. Sealed values are bytes that someone else sealed.
package store
