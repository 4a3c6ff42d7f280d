// Package filename makes file names from the office's template and from what packages are called. It does no I/O.
//
// It promises that a name stays inside the folder and is safe on every system, whatever the package, document or signer is
// called; only the template's own "/" makes a subfolder. It must not know which names are taken: see [Numbered].
package filename
