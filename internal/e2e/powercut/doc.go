// Package powercut is a disk that forgets, for tests: a file system in memory, mounted through FUSE, whose power can be
// cut. What a program has not flushed by then is lost, wholly, in part or out of order, as chance decides.
//
// It promises no more than real file systems do together, and none of the kindness of a single one (POSIX.1-2024, fsync()
// and "Synchronized I/O File Integrity Completion"; Linux, fsync(2); Pillai et al., "All File Systems Are Not Created
// Equal", OSDI 2014):
//   - What a file held when fsync, fdatasync or a write with O_SYNC or O_DSYNC returned is there, unless it was changed
//     since. Each sector of what was written since holds any of the values it has had since, each for itself, and the file
//     has any of the lengths; a sector of 512 bytes is whole.
//   - The names in a folder when fsync of that folder returned are there. Of what was made, linked, renamed and removed
//     since, each is done or undone, in any order, but that changes of one name keep theirs. A rename is done or undone as
//     a whole.
//   - To flush a file flushes no name of it, and to flush a folder neither its files nor its own name: that is in the
//     folder above.
//   - The mode of a file is as old as its bytes.
//
// A flush during which the power goes out has done nothing. Before that, every process sees all that was done, as on any
// disk, mapped into memory too.
//
// It must not know what programs promise. It works on Linux, for whoever may mount, which Available tells.
package powercut
