package store

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// PackageLine is what a long list of packages shows and searches. It is kept beside the package in a form that reads
// at a fraction of the cost of its JSON.
type PackageLine struct {
	ID       string
	Name     string
	State    string
	Origin   Origin
	People   string // names and addresses of the signers, separated by ", "
	Gone     bool
	Created  time.Time
	Due      time.Time
	Executed time.Time
}

func (p Package) line() PackageLine {
	var people []string
	for _, s := range p.Signers {
		name := strings.TrimSpace(s.FirstName + " " + s.LastName)
		switch {
		case name == "":
			name = s.Email
		case s.Email != "":
			name += " <" + s.Email + ">"
		}
		if name != "" {
			people = append(people, name)
		}
	}
	return PackageLine{
		ID: p.ID, Name: p.Name, State: p.State, Origin: p.Origin, People: strings.Join(people, ", "), Gone: p.Gone,
		Created: p.Created, Due: p.Due, Executed: p.Executed,
	}
}

// encode writes three stamps, a byte of flags, and five strings, each after its length as a uvarint.
func (l PackageLine) encode() []byte {
	b := join(stamp(l.Created), stamp(l.Due), stamp(l.Executed))
	flags := byte(0)
	if l.Gone {
		flags = 1
	}
	b = append(b, flags)
	for _, s := range []string{l.ID, l.Name, l.State, string(l.Origin), l.People} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func decodeLine(b []byte) (PackageLine, error) {
	const head = 3*8 + 1
	if len(b) < head {
		return PackageLine{}, fmt.Errorf("%w: a package line of %d bytes", errUnreadable, len(b))
	}
	l := PackageLine{
		Created:  stampTime(b),
		Due:      stampTime(b[8:]),
		Executed: stampTime(b[16:]),
		Gone:     b[24] == 1,
	}
	rest, texts := b[head:], string(b[head:]) // one allocation for all five
	var fields [5]string
	for i := range fields {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return PackageLine{}, fmt.Errorf("%w: a package line is cut short", errUnreadable)
		}
		end := size + int(n)
		fields[i] = texts[size:end]
		rest, texts = rest[end:], texts[end:]
	}
	l.ID, l.Name, l.State, l.Origin, l.People = fields[0], fields[1], fields[2], Origin(fields[3]), fields[4]
	return l, nil
}

// PackageLines calls each with the line of every package, newest first by Created, until it returns false.
func (tx *Tx) PackageLines(each func(PackageLine) bool) error {
	return tx.newest(bucketPackageLines, "", func(_, value []byte) (bool, error) {
		l, err := decodeLine(value)
		if err != nil {
			return false, err
		}
		return each(l), nil
	})
}
