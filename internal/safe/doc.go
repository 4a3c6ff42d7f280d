// Package safe writes and reads sealed files: streams of any length that nobody can read, or change unnoticed, without the
// password or the key that they were sealed for.
//
// A file is one line that names the format and its version, and then an age file (https://age-encryption.org/v1):
// ChaCha20-Poly1305 in parts of 64 KiB, of which none can be left out, moved or added, under a file key that its header
// holds once for each password or key. The library's own way for passwords is scrypt; ours is Argon2id (RFC 9106), as a
// recipient of our own, which age is made for. So the two dangerous pieces, the stream and the header's authentication, are
// the library's, and what is ours fits on a page (key.go).
//
// It promises:
//   - What Open's reader returned until io.EOF is all that was sealed, to the last byte; anything else is an error.
//   - A hostile file costs no more memory and time than a real one: the header is bounded, and so is what Argon2id may be
//     asked to do.
//   - Errors hold neither the password nor what was sealed.
//
// It must not know what is sealed, where the files are, nor where a key comes from.
package safe
