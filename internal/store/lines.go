package store

import (
	"errors"
	"fmt"

	"countersign/internal/office"
)

// encodeLine is a line as it is kept.
func encodeLine(l office.PackageLine) []byte { return []byte(l.Pack()) }

func decodeLine(b []byte) (office.PackageLine, error) {
	l, ok := office.PackedLine(b).Unpack()
	if !ok {
		return office.PackageLine{}, cutShort(b)
	}
	return l, nil
}

// cutShort is the error for a line that cannot be unpacked.
func cutShort(b []byte) error {
	return fmt.Errorf("%w: a package line of %d bytes is cut short", ErrRecord, len(b))
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

// OpenLines calls each with the lines of the packages that are not [Package.Final], in the order of NextCheck. It reads no
// others, however many there are.
func (tx *Tx) OpenLines(each func(office.PackageLine)) error {
	return tx.oldest(bucketPackagesDue, nil, func(key, _ []byte) (bool, error) {
		row := key[8:]
		value, err := tx.get(bucketPackageLines, row)
		if err != nil {
			return false, err
		}
		l, err := tx.line(row, value)
		switch {
		case errors.Is(err, ErrRecord):
			tx.leaveOut(err)
		case err != nil:
			return false, err
		default:
			each(l)
		}
		return true, nil
	})
}
