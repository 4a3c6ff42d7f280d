// Package disk gives files their names so that a loss of power takes none of them back. It is the one place of the program
// that renames and makes folders: a name is on the disk when a function here returns, and the file that it stands for is
// the whole one. It also says whether one place lies in another, whatever names lead there.
//
// What it counts on, beyond what File.Sync does for the bytes of a file (fsync(2); F_FULLFSYNC on macOS; FlushFileBuffers on
// Windows, which has the bytes of the file, its length and its entry written, and the drive's own cache too):
//   - POSIX promises of a name that was made, renamed or removed only that fsync of the folder brings it to the disk
//     (fsync(2), NOTES). A folder is a name in the folder above: that one is flushed as well, and so on upwards. A rename
//     is done or undone as a whole.
//   - Windows has no flush of a folder. MoveFileEx with MOVEFILE_WRITE_THROUGH returns when the rename is on the disk.
//     NTFS writes changes of names to a journal, in their order, so whatever was made before is there then, too: a folder
//     needs nothing of its own. Without the flag, which os.Rename does not set, the journal is written when the system
//     likes. FAT, as on a memory stick, has no journal, and keeps what it likes.
//   - A network share does what its server does.
//
// It must not know what is kept. Its functions may be called from several goroutines.
package disk
