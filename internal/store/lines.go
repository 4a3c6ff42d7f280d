package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// PackageLine is what a long list of packages shows and searches. It is kept beside the package in a form that reads
// at a fraction of the cost of its JSON.
type PackageLine struct {
	ID           string
	Name         string
	State        PackageState
	Origin       Origin
	People       string // names and addresses of the signers, separated by ", "
	Next         string // names of those whose turn it is, separated by ", "
	Words        string // names of documents and files, and the reference, for the search
	Declined     string // names of those who declined to sign, separated by ", "
	SignersDone  int
	SignersTotal int // 0 while unknown
	Gone         bool
	Planned      bool // its files are planned
	Saved        bool // its files are on disk
	Archived     bool // taken out of the list
	Problem      bool // its files cannot be saved for now
	Created      time.Time
	Due          time.Time
	Executed     time.Time
}

func (p Package) line() PackageLine {
	var people, next, declined, words []string
	for _, s := range p.Signers {
		name := strings.TrimSpace(s.FirstName + " " + s.LastName)
		if name == "" {
			name = s.Email
		}
		if slices.Contains(p.NextSigners, s.ID) && name != "" {
			next = append(next, name)
		}
		if !s.Declined.IsZero() && name != "" {
			declined = append(declined, name)
		}
		if s.Email != "" && s.Email != name {
			name += " <" + s.Email + ">"
		}
		if name != "" {
			people = append(people, name)
		}
	}
	for _, d := range p.Documents {
		words = append(words, d.Name, d.FileName)
	}
	words = append(words, p.Reference)
	return PackageLine{
		ID: p.ID, Name: p.Name, State: p.State, Origin: p.Origin, People: strings.Join(people, ", "),
		Next: strings.Join(next, ", "), Words: strings.Join(words, "\n"), Declined: strings.Join(declined, ", "),
		SignersDone: p.SignersDone, SignersTotal: p.SignersTotal,
		Gone: p.Gone, Planned: p.Planned, Saved: p.Saved, Problem: p.Problem != "", Archived: p.Archived != nil,
		Created: p.Created, Due: p.Due, Executed: p.Executed,
	}
}

// Flags of an encoded line.
const (
	lineGone = 1 << iota
	linePlanned
	lineSaved
	lineProblem
	lineDeclined
	lineArchived
)

// texts are the line's strings, in the order they are kept; who declined only where somebody did.
func (l *PackageLine) texts(declined bool) []*string {
	texts := []*string{&l.ID, &l.Name, (*string)(&l.State), (*string)(&l.Origin), &l.People, &l.Next, &l.Words}
	if declined {
		texts = append(texts, &l.Declined)
	}
	return texts
}

// encode writes three stamps, a byte of flags, two counts, and the texts, each after its length as a uvarint.
func (l PackageLine) encode() []byte {
	b := join(stamp(l.Created), stamp(l.Due), stamp(l.Executed))
	flags := byte(0)
	for flag, set := range map[byte]bool{lineGone: l.Gone, linePlanned: l.Planned, lineSaved: l.Saved, lineProblem: l.Problem, lineDeclined: l.Declined != "", lineArchived: l.Archived} {
		if set {
			flags |= flag
		}
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(max(l.SignersDone, 0)))
	b = binary.AppendUvarint(b, uint64(max(l.SignersTotal, 0)))
	for _, s := range l.texts(l.Declined != "") {
		b = binary.AppendUvarint(b, uint64(len(*s)))
		b = append(b, *s...)
	}
	return b
}

func decodeLine(b []byte) (PackageLine, error) {
	const head = 3*8 + 1
	if len(b) < head {
		return PackageLine{}, fmt.Errorf("%w: a package line of %d bytes", ErrRecord, len(b))
	}
	flags := b[24]
	l := PackageLine{
		Created:  stampTime(b),
		Due:      stampTime(b[8:]),
		Executed: stampTime(b[16:]),
		Gone:     flags&lineGone != 0, Planned: flags&linePlanned != 0, Saved: flags&lineSaved != 0, Problem: flags&lineProblem != 0,
		Archived: flags&lineArchived != 0,
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
	for _, s := range l.texts(flags&lineDeclined != 0) {
		n, ok := number()
		if !ok || !ok1 || !ok2 || n > len(rest) {
			return PackageLine{}, fmt.Errorf("%w: a package line is cut short", ErrRecord)
		}
		*s = text[:n]
		rest, text = rest[n:], text[n:]
	}
	l.State = l.State.normal()
	return l, nil
}

// PackageLines calls each with the line of every package, newest first by Created, until it returns false. A line that
// cannot be read is made anew from its package.
func (tx *Tx) PackageLines(each func(PackageLine) bool) error {
	return tx.newest(bucketPackageLines, "", func(row, value []byte) (bool, error) {
		l, err := decodeLine(value)
		if err != nil {
			p, lost := at[Package](tx, bucketPackages, row)
			if errors.Is(lost, ErrRecord) {
				tx.leaveOut(fmt.Errorf("package %x: %w: %w", row, ErrRecord, err))
				return true, nil
			}
			if lost != nil {
				return false, lost
			}
			l = p.line()
		}
		return each(l), nil
	})
}
