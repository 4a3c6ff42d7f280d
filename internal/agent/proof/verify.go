package proof

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/record"
	"countersign/internal/seal"
	"countersign/internal/store"
)

// verifyTogether is how many files of a folder are looked up in the record at once, because each lookup reads all of it.
const verifyTogether = 5000

// pageOfLines is how many lines are read in one transaction.
const pageOfLines = 10_000

// Verify reports on any files, and on the documents in folders: whether they were sent or saved here, and what is known of their
// seals. After an interruption, pass the last file as after to continue.
func (r *Service) Verify(ctx context.Context, paths []string, after string, tell func(office.Verified) error) error {
	for _, p := range paths {
		var batch []candidate
		alone := true
		err := walk(p, func(at string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err == nil && e.IsDir():
				alone = false
			case after != "":
				if at == after {
					after = ""
				}
			case err != nil || at == p || e.Type().IsRegular():
				batch = append(batch, candidate{Verified: office.Verified{Path: at, Known: office.Unknown}, alone: alone || err != nil})
			}
			if len(batch) < verifyTogether {
				return nil
			}
			err = r.verify(ctx, batch, tell)
			batch = nil
			return err
		})
		if err = cmp.Or(err, ctx.Err()); err == nil {
			err = r.verify(ctx, batch, tell)
		}
		if err != nil {
			return err
		}
	}
	if after != "" {
		return message.Error(message.FileNotRead(filepath.Base(after)), fs.ErrNotExist)
	}
	return nil
}

// walk is filepath.WalkDir, but root may be a link, as where the documents' folder leads to a share.
func walk(root string, visit fs.WalkDirFunc) error {
	real, err := disk.Real(root)
	if err != nil {
		real = root // visit is told why
	}
	return filepath.WalkDir(real, func(at string, e fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(real, at); rel == "." {
			at = root
		} else {
			at = filepath.Join(root, rel)
		}
		return visit(at, e, err)
	})
}

// candidate is a file to verify.
type candidate struct {
	office.Verified
	digest, sha256 string
	also           []string // ids of the packages with which it was sent
	alone          bool     // named by a person; others are reported only if ours or a PDF
}

func (r *Service) verify(ctx context.Context, files []candidate, tell func(office.Verified) error) error {
	byName, byHash := map[string][]*candidate{}, map[string][]*candidate{}
	for i := range files {
		f := &files[i]
		if f.read(ctx); f.Problem.IsZero() {
			name, blake3 := filepath.Base(f.Path), office.BLAKE3(f.digest)
			byName[name], byHash[blake3], byHash[f.sha256] = append(byName[name], f), append(byHash[blake3], f), append(byHash[f.sha256], f)
		}
	}
	err := r.eachFact(ctx, func(_ int64, f record.Fact) {
		note := func(file record.File, as office.Knowledge) {
			for _, c := range slices.Concat(byHash[file.BLAKE3], byHash[file.SHA256]) {
				if c.Known != office.KnownSaved {
					if as == office.KnownSent && !slices.Contains(c.also, f.Package) {
						c.also = append(c.also, f.Package)
					}
					c.Known, c.PackageID, c.At = as, f.Package, f.At
				}
			}
			for _, c := range byName[path.Base(file.Name)] {
				if c.Known == office.Unknown && as == office.KnownSaved && office.BLAKE3(c.digest) != file.BLAKE3 {
					c.Known, c.PackageID, c.At = office.KnownDiffers, f.Package, f.At
				}
			}
		}
		if f.Kind == record.Saved && f.File != nil {
			note(*f.File, office.KnownSaved)
		}
		for _, file := range f.Files {
			note(file, office.KnownSent)
		}
	})
	if err != nil {
		return err
	}
	trust, err := r.trust()
	if err != nil {
		return err
	}
	for i := range files {
		f := &files[i]
		if err := r.judge(ctx, f, trust); err != nil {
			return err
		}
		if !f.alone && f.Known == office.Unknown && f.Seal.State == "" && f.Problem.IsZero() {
			continue // an unrelated file in a folder of documents
		}
		if err := tell(f.Verified); err != nil {
			return err
		}
	}
	return nil
}

func (f *candidate) read(ctx context.Context) {
	file, _, err := disk.OpenFile(f.Path)
	if err == nil {
		var saved archive.Saved
		saved, f.sha256, err = archive.Sums(archive.Reader{Ctx: ctx, Reader: file})
		f.digest = saved.Digest
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		f.digest, f.sha256 = "", ""
		f.Problem = message.FileNotRead(filepath.Base(f.Path))
	}
}

// Sealed reports whether a file claims to be sealed, without verifying it.
func Sealed(path string) bool {
	file, info, err := disk.OpenFile(path)
	if err != nil {
		return false
	}
	defer file.Close()
	claimed, err := seal.Claimed(file, info.Size())
	return claimed && err == nil
}

// called returns a package's name, or its id if it is no longer known.
func (r *Service) called(id string) (string, error) {
	p, _, err := r.Data.Package(id)
	if err != nil || p.ID == "" {
		return id, err
	}
	return p.DisplayName(), nil
}

// judge adds what is known of the file's package and seal, and for a saved file how it compared with what was sent.
func (r *Service) judge(ctx context.Context, f *candidate, trust seal.Trust) error {
	if f.PackageID != "" {
		var err error
		if f.Package, err = r.called(f.PackageID); err != nil {
			return err
		}
		for _, id := range f.also {
			if id == f.PackageID {
				continue
			}
			name, err := r.called(id)
			if err != nil {
				return err
			}
			f.Also = append(f.Also, name)
		}
		jobs, err := data.Read(r.Data, "the files of a package", func(tx *store.Tx) ([]office.Job, error) { return tx.JobsOf(f.PackageID) })
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if f.Known == office.KnownSaved && j.Digest == f.digest {
				f.Seal, f.Match = j.Seal, j.Match
			}
		}
	}
	isPDF := strings.EqualFold(filepath.Ext(f.Path), ".pdf")
	if !f.Problem.IsZero() || !f.alone && (!f.Seal.Due() || !isPDF) {
		return nil
	}
	var found seal.Found
	err := r.lookAt(ctx, f.Path, "seal", &found)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errUnjudged):
		f.Seal = office.Seal{State: office.SealUnjudged}
	case err != nil && f.Known == office.Unknown && (isPDF || !errors.Is(err, preview.ErrNotPDF)): // what is not meant to be a PDF is no problem
		f.Problem = message.For(err)
	case err == nil:
		f.Seal = seal.Judge(found, trust)
	}
	return nil
}

// eachFact calls take with everything logged, and the line numbers from 0.
func (r *Service) eachFact(ctx context.Context, take func(n int64, f record.Fact)) error {
	for at, size := int64(0), int64(1); at < size; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		size, err = data.Read(r.Data, "the record", func(tx *store.Tx) (int64, error) {
			log := tx.Log()
			end := at + pageOfLines
			err := log.From(at, func(n int64, line []byte) bool {
				if n == end {
					return false
				}
				at = n + 1
				var f record.Fact
				if json.Unmarshal(line, &f) == nil {
					take(n, f)
				}
				return true
			})
			size, failed := log.Size()
			return size, errors.Join(err, failed)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

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
