package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/zeebo/blake3"
)

// blake marks a digest that is a BLAKE3 of 256 bits. One without a mark is a SHA-256, as earlier versions noted it.
const blake = "blake3:"

// newDigest is what documents are recognised by: as hard to forge as SHA-256, and fast on every processor. SHA-256 is
// only where there are instructions for it, and slower than the network and the disk where there are none.
func newDigest() hash.Hash { return blake3.New() }

// digestText is how the digest of what sum has seen is written.
func digestText(sum hash.Hash) string { return blake + hex.EncodeToString(sum.Sum(nil)) }

// likeDigest is the hash that digest was made with, and what is to come out of it, in hex.
func likeDigest(digest string) (sum hash.Hash, want string) {
	if want, ok := strings.CutPrefix(digest, blake); ok {
		return blake3.New(), want
	}
	return sha256.New(), digest
}
