package store

import (
	"bytes"
	"errors"
	"fmt"

	"countersign/internal/office"
)

// What is known of a package whose record cannot be read stands in its line and in the indexes: enough to go on with it.
// The service is asked about it as about any other, and what it answers is the new record.

// packageAt reads the package of a row.
func (tx *Tx) packageAt(row []byte) (office.Package, error) {
	value, err := tx.get(bucketPackages, row)
	if err != nil {
		return office.Package{}, err
	}
	return tx.packageOf(row, value)
}

// packageOf reads the package of a row from its record, or from what else is known of it.
func (tx *Tx) packageOf(row, value []byte) (office.Package, error) {
	p, err := recall[office.Package](tx, bucketPackages, row, value)
	if !errors.Is(err, ErrRecord) {
		return p, err
	}
	known, lost := tx.salvage(row)
	if lost != nil {
		return office.Package{}, fmt.Errorf("%w; %w", err, lost)
	}
	return known, nil
}

// salvage is the package of a row without its record. Its facets are those that the record had.
func (tx *Tx) salvage(row []byte) (office.Package, error) {
	value, err := tx.get(bucketPackageLines, row)
	if err != nil {
		return office.Package{}, err
	}
	l, err := decodeLine(value)
	if err != nil {
		return office.Package{}, err
	}
	p := office.Package{
		ID: l.ID, Name: l.Name, Origin: l.Origin, State: l.State, Created: l.Created, Due: l.Due, Executed: office.When{Time: l.Executed},
		SignersDone: l.SignersDone, SignersTotal: l.SignersTotal, Gone: l.Gone, Planned: l.Planned, Saved: l.Saved,
	}
	p.Away = !p.Final() // unless it is in the index of what is due
	for index, note := range map[string]func(key []byte){
		bucketPackagesDue:     func(key []byte) { p.NextCheck, p.Away = stampTime(key), false },
		bucketPackagesRefused: func(key []byte) { p.Refused = stampTime(key) },
		bucketWithdrawalsDue: func(key []byte) { // whatever was asked for: the status tells
			p.Withdrawal, p.Away = &office.Withdrawal{State: office.WithdrawAsked, NextTry: stampTime(key), Damaged: true}, false
		},
		bucketPackagesByDraft: func(key []byte) {
			if id, ok := bytes.CutSuffix(key, append([]byte{0}, row...)); ok && id[0] != 0 { // else it is a hash
				p.DraftID = string(id)
			}
		},
	} {
		err := tx.oldest(index, nil, func(key, _ []byte) (bool, error) {
			if !bytes.HasSuffix(key, row) {
				return true, nil
			}
			note(key)
			return false, nil
		})
		if err != nil {
			return office.Package{}, err
		}
	}
	return p, nil
}
