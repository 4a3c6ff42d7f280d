// Package filename makes the names of files from what an office chose and what packages are called. It does no I/O.
//
// It promises that a name made here stays inside the folder and is safe on every system, whatever the package, document or
// signer is called; only the template's own "/" makes a subfolder. It must not know which names are taken: see [Numbered].
package filename
