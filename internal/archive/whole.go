package archive

import (
	"bytes"
	"regexp"
	"strconv"
)

// ended is how much of the end of a document is looked at: readers look for "%%EOF" in the last KiB (ISO 32000-1, Annex
// H, 3.4.4), and 965 of 971 documents keep to this.
const ended = 1024

// evidence is what a document tells about being whole while it passes. A length that the sender announced is none: a
// proxy that cuts a document off announces what is left of it.
type evidence struct {
	promised int64  // bytes, as a linearized document says at its beginning; 0 when it does not
	tail     []byte // its last bytes
}

// linearized is the length that a document made for reading while it loads gives in its first bytes.
var linearized = regexp.MustCompile(`/Linearized\b[^>]*?/L\s*(\d{1,18})\b|/L\s*(\d{1,18})\b[^>]*?/Linearized\b`)

// begin looks at the beginning of the document.
func (e *evidence) begin(head []byte) {
	match := linearized.FindSubmatch(head[:min(len(head), sniffed)])
	if match == nil {
		return
	}
	e.promised, _ = strconv.ParseInt(string(match[1])+string(match[2]), 10, 64)
}

// pass looks at the next bytes.
func (e *evidence) pass(chunk []byte) {
	if len(chunk) >= ended {
		e.tail = append(e.tail[:0], chunk[len(chunk)-ended:]...)
		return
	}
	e.tail = append(e.tail, chunk...)
	if over := len(e.tail) - ended; over > 0 {
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
}

// firstPart is the end of the first part of a linearized document, which looks like the end of a whole one.
var firstPart = regexp.MustCompile(`startxref\s+0\s*$`)

// whole reports whether a document of that many bytes ends as a PDF does. One that was signed or changed has several
// ends: the last one must be the last thing in it, for a further part would begin with a number, a table or a comment.
// Anything else behind it was appended by somebody on the way.
func (e *evidence) whole(size int64) bool {
	at := bytes.LastIndex(e.tail, []byte("%%EOF"))
	if at < 0 || size < e.promised || firstPart.Match(e.tail[:at]) {
		return false
	}
	rest := bytes.TrimLeft(e.tail[at+len("%%EOF"):], "\x00\t\n\f\r ")
	return len(rest) == 0 || !bytes.ContainsRune([]byte("0123456789xts%"), rune(rest[0]))
}
