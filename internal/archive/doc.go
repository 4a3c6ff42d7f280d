// Package archive is where an executed document becomes a file: it saves bytes so that a file under its final name is always
// whole. It takes copies of the files that are to be signed, too.
//
// It promises:
//   - A path that leaves the folder, or is not safe on every system, is refused (filename.Safe).
//   - [Folder.Save] never replaces a file. The bytes go to a hidden temporary file in the folder of the target, are checked,
//     flushed and then renamed without replacing; the folder is flushed last. After any error the temporary file is gone;
//     after a crash [Folder.Sweep] removes it.
//   - What cannot prove that it is whole, by the end of a PDF or by coming twice the same, gets no final name.
//   - [Folder.Take] copies a file as it was at one moment, or not at all.
//   - Memory does not grow with the size of a document.
//   - Every error can be told to a person, see [Message].
//
// It does not know where the bytes come from, which packages exist, what was saved before, or when to try again: those are
// its caller's. It logs nothing and leaves no goroutine behind.
package archive
