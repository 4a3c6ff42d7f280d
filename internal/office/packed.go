package office

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// PackedLine is a PackageLine as it is kept: three stamps, a byte of flags, two counts and the texts, each after its length.
// A list of tens of thousands holds them like this and unpacks those that somebody looks at; that copies nothing, so the
// texts of a line last as long as what it was unpacked from.
type PackedLine string

// The flags of a packed line.
const (
	lineGone = 1 << iota
	linePlanned
	lineSaved
	lineProblem
	lineDeclined
	lineArchived
	lineWithdrawing
	lineReason
)

// packedHead is how long the stamps and the flags are.
const packedHead = 3*8 + 1

// Stamp is a time as a number that sorts like the times: nanoseconds since 1970. Times before that, and the zero time, are
// 0; times after 2262 are the last one.
func Stamp(t time.Time) uint64 {
	switch {
	case t.Year() > 2261:
		return math.MaxInt64
	case t.Unix() > 0:
		return uint64(t.UnixNano())
	}
	return 0
}

// StampTime is the time of a stamp, in UTC; the zero time for 0.
func StampTime(stamp uint64) time.Time {
	if stamp == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(stamp)).UTC()
}

// Pack is l as it is kept.
func (l PackageLine) Pack() PackedLine {
	texts := []string{l.ID, l.Name, string(l.State), string(l.Origin), l.People, l.Next, l.Words}
	if l.Declined {
		texts = append(texts, l.Decliners)
	}
	if l.Reason != "" {
		texts = append(texts, l.Reason)
	}
	size := packedHead + 2*binary.MaxVarintLen32
	for _, s := range texts {
		size += binary.MaxVarintLen32 + len(s)
	}
	b := make([]byte, 0, size)
	for _, t := range []time.Time{l.Created, l.Due, l.Executed} {
		b = binary.BigEndian.AppendUint64(b, Stamp(t))
	}
	flags := byte(0)
	for i, set := range [...]bool{l.Gone, l.Planned, l.Saved, l.Problem, l.Declined, l.Archived, l.Withdrawing, l.Reason != ""} {
		if set {
			flags |= 1 << i
		}
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(max(l.SignersDone, 0)))
	b = binary.AppendUvarint(b, uint64(max(l.SignersTotal, 0)))
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return PackedLine(b)
}

// Unpack is the line; ok is false when it is cut short.
func (p PackedLine) Unpack() (l PackageLine, ok bool) {
	if len(p) < packedHead {
		return PackageLine{}, false
	}
	flags := p[packedHead-1]
	u := unpacking{rest: string(p[packedHead:])}
	l = PackageLine{
		Created: p.time(0), Due: p.time(8), Executed: p.time(16),
		Gone: flags&lineGone != 0, Planned: flags&linePlanned != 0, Saved: flags&lineSaved != 0, Problem: flags&lineProblem != 0,
		Declined: flags&lineDeclined != 0, Archived: flags&lineArchived != 0, Withdrawing: flags&lineWithdrawing != 0,
		SignersDone: u.number(), SignersTotal: u.number(),
		ID: u.text(), Name: u.text(), State: PackageState(u.text()).Normal(), Origin: Origin(u.text()),
		People: u.text(), Next: u.text(), Words: u.text(),
	}
	if l.Declined {
		l.Decliners = u.text()
	}
	if flags&lineReason != 0 {
		l.Reason = u.text()
	}
	if u.short {
		return PackageLine{}, false
	}
	return l, true
}

// Created is when the package was.
func (p PackedLine) Created() time.Time { return p.time(0) }

// Whole reports whether p can be unpacked.
func (p PackedLine) Whole() bool {
	if len(p) < packedHead {
		return false
	}
	u := unpacking{rest: string(p[packedHead:])}
	u.number()
	u.number()
	texts := 7
	for _, flag := range []byte{lineDeclined, lineReason} {
		if p[packedHead-1]&flag != 0 {
			texts++
		}
	}
	for range texts {
		u.text()
	}
	return !u.short
}

// time is that of the stamp at a place.
func (p PackedLine) time(at int) time.Time {
	stamp := uint64(0)
	for i := range 8 {
		stamp = stamp<<8 | uint64(p[at+i])
	}
	return StampTime(stamp)
}

// unpacking is what is left of a packed line.
type unpacking struct {
	rest  string
	short bool // there was less than there had to be
}

// number is a uvarint.
func (u *unpacking) number() int {
	n := 0
	for i := 0; i < len(u.rest) && i < binary.MaxVarintLen32; i++ {
		b := u.rest[i]
		n |= int(b&0x7f) << (7 * i)
		if b < 0x80 && n <= math.MaxInt32 {
			u.rest = u.rest[i+1:]
			return n
		}
	}
	u.rest, u.short = "", true
	return 0
}

func (u *unpacking) text() string {
	n := u.number()
	if n > len(u.rest) {
		u.rest, u.short = "", true
		return ""
	}
	text := u.rest[:n]
	u.rest = u.rest[n:]
	return text
}

// Packer packs lines that are kept together, in few large pieces of memory instead of one each. The zero Packer is ready.
type Packer struct{ piece strings.Builder }

// packedPiece is how large a piece is at most, in bytes, unless a line is larger. Each is twice as large as the one before
// it: what is kept of a few lines is not much more than they are.
const packedPiece = 256 << 10

// Keep is a packed line that is read from b, which it does not keep.
func (k *Packer) Keep(b []byte) PackedLine {
	if k.piece.Cap()-k.piece.Len() < len(b) {
		next := min(2*k.piece.Cap(), packedPiece)
		k.piece.Reset()
		k.piece.Grow(max(next, len(b)))
	}
	from := k.piece.Len()
	k.piece.Write(b)
	return PackedLine(k.piece.String()[from:])
}
