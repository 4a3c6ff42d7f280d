// Package powercut is a forgetful disk for tests: a file system in memory, mounted through FUSE, whose power can be cut.
// Then what a program has not flushed is lost, completely, partly or out of order, at random.
//
// It guarantees only what all real file systems guarantee, without the additional guarantees of any single one
// (POSIX.1-2024, fsync() and "Synchronized I/O File Integrity Completion"; Linux, fsync(2); Pillai et al., "All File Systems
// Are Not Created Equal", OSDI 2014):
//   - What a file contained when fsync, fdatasync or a write with O_SYNC or O_DSYNC returned is there, unless it was
//     changed since. Each sector written since has, independently, any of the values it has had since then, and the file
//     any of its lengths; a sector of 512 bytes is atomic.
//   - The names in a folder when fsync of that folder returned are there. Later creations, links, renames and removals took
//     place or not, in any order, except that changes of the same name keep their order. A rename is atomic.
//   - Flushing a file flushes none of its names, and flushing a folder flushes neither its files nor its own name, which is
//     in the folder above.
//   - The mode of a file is as old as its contents.
//
// A flush interrupted by the power failure has no effect. Before that, every process sees all changes, as on any disk,
// including through memory maps.
//
// It must not know what programs promise. It works on Linux, for users who may mount, see Available.
package powercut
