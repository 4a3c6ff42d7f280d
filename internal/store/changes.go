package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"countersign/internal/office"
)

// lineChanges remembers whose lines the latest transactions wrote, so that a reader that has all lines can read just the
// changed ones. Safe for concurrent use.
type lineChanges struct {
	mu     sync.Mutex
	before uint64 // the last transaction whose changes are no longer remembered
	noted  []lineChange
}

// lineChange is a line written or removed by a transaction.
type lineChange struct {
	in  uint64 // the transaction
	row string
}

// leastChanges is the minimum number of changes that are remembered; the maximum is twice that. Whoever has missed more
// reads all lines.
const leastChanges = 1000

// note is called within a transaction, before its commit: so whoever sees its changes finds them here. A rollback merely
// causes lines to be read again.
func (c *lineChanges) note(in uint64, rows []string) {
	if len(rows) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range rows {
		c.noted = append(c.noted, lineChange{in, row})
	}
	if len(c.noted) > 2*leastChanges {
		over := len(c.noted) - leastChanges
		c.before = c.noted[over-1].in
		c.noted = slices.Clone(c.noted[over:])
	}
}

// forget is called within a transaction that changes everything.
func (c *lineChanges) forget(in uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before, c.noted = max(c.before, in), nil
}

// between are the rows changed after version and up to now, each once; known is false if that is no longer remembered.
func (c *lineChanges) between(version, now uint64) (rows []string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == 0 || version < c.before || version > now {
		return nil, false
	}
	seen := map[string]bool{}
	for i := len(c.noted) - 1; i >= 0 && c.noted[i].in > version; i-- {
		if row := c.noted[i].row; c.noted[i].in <= now && !seen[row] {
			seen[row] = true
			rows = append(rows, row)
		}
	}
	return rows, true
}

// LinesSince returns the lines of packages that are new or changed since a version that an earlier call returned. It returns
// all lines for version 0, after many changes, and if a package has moved in the order or was removed.
func (tx *Tx) LinesSince(version uint64) (office.Lines, error) {
	lines := office.Lines{Version: uint64(tx.bolt.ID())}
	rows, known := tx.changes.between(version, lines.Version)
	var keep office.Packer
	for _, row := range rows {
		value := tx.get(bucketPackageLines, []byte(row))
		if known = value != nil; !known {
			break // it has moved or was removed
		}
		if l, err := tx.packed(&keep, []byte(row), value); tx.read(err) {
			lines.Lines = append(lines.Lines, l)
		}
	}
	if known {
		return lines, tx.err
	}
	lines.All, lines.Lines = true, nil
	err := each(tx, tx.in(bucketPackageLines), func(row, value []byte) (office.PackedLine, error) { return tx.packed(&keep, row, value) },
		func(l office.PackedLine) bool { lines.Lines = append(lines.Lines, l); return true })
	return lines, err
}

// packed is a line as stored. An unreadable one is rebuilt from its package.
func (tx *Tx) packed(keep *office.Packer, row, value []byte) (office.PackedLine, error) {
	if packed := keep.Keep(value); packed.Whole() {
		return packed, nil
	}
	l, err := tx.line(row, value)
	return l.Pack(), err
}

// line decodes a line. An unreadable one is rebuilt from its package.
func (tx *Tx) line(row, value []byte) (office.PackageLine, error) {
	l, err := decodeLine(value)
	if err == nil {
		return l, nil
	}
	p, lost := at[office.Package](tx, bucketPackages, row)
	if errors.Is(lost, ErrRecord) {
		lost = fmt.Errorf("package %x: %w: %w", row, ErrRecord, err)
	}
	return p.Line(), lost
}

func encodeLine(l office.PackageLine) []byte { return []byte(l.Pack()) }

func decodeLine(b []byte) (office.PackageLine, error) {
	l, ok := office.PackedLine(b).Unpack()
	if !ok {
		return office.PackageLine{}, fmt.Errorf("%w: a package line of %d bytes is cut short", ErrRecord, len(b))
	}
	return l, nil
}

// PackageLines calls take with the line of every package, newest first by Created, until it returns false. An unreadable
// line is rebuilt from its package.
func (tx *Tx) PackageLines(take func(office.PackageLine) bool) error {
	return each(tx, tx.in(bucketPackageLines), tx.line, take)
}

// OpenLines calls take with the lines of the packages that are not [Package.Final], in the order of NextCheck. It reads only
// these.
func (tx *Tx) OpenLines(take func(office.PackageLine)) error {
	due := func(v visit) { tx.oldest(bucketPackagesDue, nil, v) }
	line := func(key, _ []byte) (office.PackageLine, error) {
		return tx.line(key[8:], tx.get(bucketPackageLines, key[8:]))
	}
	return each(tx, due, line, func(l office.PackageLine) bool { take(l); return true })
}
