package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"countersign/internal/office"
)

// Flags of an encoded line.
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

// lineTexts are the line's strings, in the order they are kept; who declined and why only where
// somebody did and said so.
func lineTexts(l *office.PackageLine, declined, reason bool) []*string {
	texts := []*string{&l.ID, &l.Name, (*string)(&l.State), (*string)(&l.Origin), &l.People, &l.Next, &l.Words}
	if declined {
		texts = append(texts, &l.Decliners)
	}
	if reason {
		texts = append(texts, &l.Reason)
	}
	return texts
}

// encodeLine writes three stamps, a byte of flags, two counts, and the texts, each after its length as a uvarint.
func encodeLine(l office.PackageLine) []byte {
	b := join(stamp(l.Created), stamp(l.Due), stamp(l.Executed))
	flags := byte(0)
	for flag, set := range map[byte]bool{lineGone: l.Gone, linePlanned: l.Planned, lineSaved: l.Saved, lineProblem: l.Problem, lineDeclined: l.Declined, lineArchived: l.Archived, lineWithdrawing: l.Withdrawing, lineReason: l.Reason != ""} {
		if set {
			flags |= flag
		}
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(max(l.SignersDone, 0)))
	b = binary.AppendUvarint(b, uint64(max(l.SignersTotal, 0)))
	for _, s := range lineTexts(&l, l.Declined, l.Reason != "") {
		b = binary.AppendUvarint(b, uint64(len(*s)))
		b = append(b, *s...)
	}
	return b
}

func decodeLine(b []byte) (office.PackageLine, error) {
	const head = 3*8 + 1
	if len(b) < head {
		return office.PackageLine{}, fmt.Errorf("%w: a package line of %d bytes", ErrRecord, len(b))
	}
	flags := b[24]
	l := office.PackageLine{
		Created:  stampTime(b),
		Due:      stampTime(b[8:]),
		Executed: stampTime(b[16:]),
		Gone:     flags&lineGone != 0, Planned: flags&linePlanned != 0, Saved: flags&lineSaved != 0, Problem: flags&lineProblem != 0,
		Declined: flags&lineDeclined != 0, Archived: flags&lineArchived != 0, Withdrawing: flags&lineWithdrawing != 0,
	}
	rest, text := b[head:], string(b[head:]) // one allocation for all texts
	number := func() (int, bool) {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > math.MaxInt32 {
			return 0, false
		}
		rest, text = rest[size:], text[size:]
		return int(n), true
	}
	var ok1, ok2 bool
	l.SignersDone, ok1 = number()
	l.SignersTotal, ok2 = number()
	for _, s := range lineTexts(&l, flags&lineDeclined != 0, flags&lineReason != 0) {
		n, ok := number()
		if !ok || !ok1 || !ok2 || n > len(rest) {
			return office.PackageLine{}, fmt.Errorf("%w: a package line is cut short", ErrRecord)
		}
		*s = text[:n]
		rest, text = rest[n:], text[n:]
	}
	l.State = l.State.Normal()
	return l, nil
}

// PackageLines calls each with the line of every package, newest first by Created, until it returns false. A line that
// cannot be read is made anew from its package.
func (tx *Tx) PackageLines(each func(office.PackageLine) bool) error {
	return tx.newest(bucketPackageLines, "", func(row, value []byte) (bool, error) {
		l, err := tx.line(row, value)
		if errors.Is(err, ErrRecord) {
			tx.leaveOut(err)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		return each(l), nil
	})
}
