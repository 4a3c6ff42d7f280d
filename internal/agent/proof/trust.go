package proof

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"math"
	"path/filepath"
	"slices"

	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/seal"
	"countersign/internal/store"
)

// DocTrusted is the document with the certificates that the office trusts in addition to the system's, as DER.
const DocTrusted = "seals-trusted"

// Trusted returns the certificates that the office trusts in addition to the system's, in the order of adding.
func (r *Service) Trusted() (all []*x509.Certificate, err error) {
	kept, _, err := data.Doc[[][]byte](r.Data, DocTrusted)
	for _, der := range kept {
		if c, err := x509.ParseCertificate(der); err == nil {
			all = append(all, c)
		}
	}
	return all, err
}

func (r *Service) trust() (seal.Trust, error) {
	pinned, err := r.Trusted()
	return seal.Trust{Pinned: pinned, Now: r.Now()}, err
}

// Trust makes the office trust seals made or vouched for by these certificates: all of them, or none on error. The error may be for
// people.
func (r *Service) Trust(more ...*x509.Certificate) error {
	return r.changeTrust(office.SealStranger, func(kept [][]byte) [][]byte {
		for _, c := range more {
			if !slices.ContainsFunc(kept, func(der []byte) bool { return bytes.Equal(der, c.Raw) }) {
				kept = append(kept, c.Raw)
			}
		}
		return kept
	})
}

// Distrust reverts that for some of them.
func (r *Service) Distrust(some ...*x509.Certificate) error {
	return r.changeTrust(office.SealIntact, func(kept [][]byte) [][]byte {
		return slices.DeleteFunc(kept, func(der []byte) bool {
			return slices.ContainsFunc(some, func(c *x509.Certificate) bool { return bytes.Equal(der, c.Raw) })
		})
	})
}

// changeTrust changes whom the office trusts, and re-examines what that may affect.
func (r *Service) changeTrust(judged office.SealState, change func(kept [][]byte) [][]byte) error {
	r.trusting.Lock()
	defer r.trusting.Unlock()
	err := r.Data.Update(func(tx *store.Tx) error {
		var kept [][]byte
		tx.GetDoc(DocTrusted, &kept)
		before := len(kept)
		if kept = change(kept); len(kept) == before {
			return nil
		}
		if len(kept) > max(before, seal.MaxTrusted) {
			return message.Error(message.TooManyTrusted(), nil)
		}
		doubtful, err := tx.JobsAfter("", math.MaxInt, func(j office.Job) bool { return j.Seal.State == judged })
		if err != nil {
			return err
		}
		for i, j := range doubtful {
			j.Seal.Doubted = true
			tx.PutJob(j)
			if i+1 < len(doubtful) && doubtful[i+1].PackageID == j.PackageID {
				continue // handled once, after its last file
			}
			if err := tellPackage(tx, j.PackageID); err != nil {
				return err
			}
		}
		return tx.PutDoc(DocTrusted, kept)
	})
	r.Wake()
	return err
}

// Authorities returns the certificates that a file names, for a person to decide whether to trust them; see seal.Authorities. The
// error is for people.
func (r *Service) Authorities(ctx context.Context, path string) (all []*x509.Certificate, err error) {
	var found [][]byte
	err = r.lookAt(ctx, path, "authorities", &found)
	if errors.Is(err, errUnjudged) {
		return nil, message.Error(message.NoAuthorities(filepath.Base(path)), err)
	}
	for _, der := range found {
		if c, err := x509.ParseCertificate(der); err == nil {
			all = append(all, c)
		}
	}
	return all, err
}
