package seal

import (
	"errors"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

var errBER = errors.New("not an ASN.1 encoding")

// maxDepth is the maximum nesting of values.
const maxDepth = 32

// ASN.1 tags, as encoded.
const (
	tagOctets       = 0x04
	tagSet          = 0x31
	tagConstructed  = 0x20
	longTag         = 0x1f
	indefiniteBytes = 0x80
)

// normalize returns the first value in ber with minimal definite lengths and with octet strings in one piece. That is the
// encoding that signatures require (X.690, DER), except that it keeps the signed order of sets. It ignores the zeros after
// the value that fill a PDF's placeholder.
func normalize(ber []byte) ([]byte, error) {
	der, _, err := normalizeValue(ber, maxDepth)
	return der, err
}

func normalizeValue(ber []byte, depth int) (der, rest []byte, err error) {
	if depth == 0 || len(ber) < 2 || ber[0]&longTag == longTag {
		return nil, nil, errBER
	}
	tag := ber[0]
	body, rest, indefinite, err := splitBody(ber[1:])
	if err != nil {
		return nil, nil, err
	}
	if tag&tagConstructed == 0 {
		if indefinite {
			return nil, nil, errBER
		}
		return encode(tag, body), rest, nil
	}
	var parts []byte
	for {
		if indefinite && len(body) >= 2 && body[0] == 0 && body[1] == 0 {
			rest = body[2:]
			break
		}
		if !indefinite && len(body) == 0 {
			break
		}
		var part []byte
		if part, body, err = normalizeValue(body, depth-1); err != nil {
			return nil, nil, err
		}
		if tag == tagOctets|tagConstructed {
			if part[0] != tagOctets {
				return nil, nil, errBER
			}
			part = content(part)
		}
		parts = append(parts, part...)
	}
	if tag == tagOctets|tagConstructed {
		tag = tagOctets
	}
	return encode(tag, parts), rest, nil
}

// splitBody reads the length at the beginning of b and returns the content. If the length is indefinite, that is all of b.
func splitBody(b []byte) (body, rest []byte, indefinite bool, err error) {
	length, b := int(b[0]), b[1:]
	if length == indefiniteBytes {
		return b, nil, true, nil
	}
	if length > indefiniteBytes {
		n := length &^ indefiniteBytes
		if n > 4 || n > len(b) {
			return nil, nil, false, errBER
		}
		length = 0
		for _, x := range b[:n] {
			length = length<<8 | int(x)
		}
		b = b[n:]
	}
	if length > len(b) {
		return nil, nil, false, errBER
	}
	return b[:length], b[length:], false, nil
}

func encode(tag byte, body []byte) []byte {
	var b cryptobyte.Builder
	b.AddASN1(asn1.Tag(tag), func(b *cryptobyte.Builder) { b.AddBytes(body) })
	return b.BytesOrPanic() // cannot fail for maxSignature bytes and a one-byte tag
}

// content is the content of a value encoded by encode.
func content(der []byte) []byte {
	if n := der[1]; n > indefiniteBytes {
		return der[2+int(n&^indefiniteBytes):]
	}
	return der[2:]
}
