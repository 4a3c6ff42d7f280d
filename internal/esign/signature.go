package esign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// SignatureLength is the length of every well-formed signature: the base64 of 32 bytes.
const SignatureLength = 44

// Verify reports whether header is the signature of a notification sent to url (interface.md, "Webhook
// authentication"): the base64 of the HMAC-SHA256 over url and the raw body, keyed with secret as UTF-8 bytes. url is
// taken as registered, to the letter. Anything empty is not authentic. The comparison takes constant time.
func Verify(url, secret, header string, body []byte) bool {
	if url == "" || secret == "" || len(body) == 0 {
		return false
	}
	claimed, ok := DecodeSignature(header)
	if !ok {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(url))
	mac.Write(body)
	var sum [sha256.Size]byte
	return hmac.Equal(mac.Sum(sum[:0]), claimed[:])
}

// DecodeSignature reads the header's value: standard base64 with padding (RFC 4648, 4), nothing around it. It tells
// cheaply, before a body is read, what cannot be a signature.
func DecodeSignature(header string) (sum [sha256.Size]byte, ok bool) {
	if len(header) != SignatureLength { // the decoder would skip line breaks
		return sum, false
	}
	var buf [33]byte // what 44 characters can hold at most
	n, err := base64.StdEncoding.Strict().Decode(buf[:], []byte(header))
	if err != nil || n != len(sum) {
		return sum, false
	}
	copy(sum[:], buf[:])
	return sum, true
}
