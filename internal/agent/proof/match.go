package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/compare"
	"countersign/internal/evidence"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/store"
)

// Comparing is what a Service needs to compare documents.
type Comparing struct {
	// Compare compares two open documents in a bounded process, and returns compare.Result as JSON.
	Compare func(ctx context.Context, sent, back *os.File) ([]byte, error)
	Draw    func(ctx context.Context, document *os.File, page, width int) (image.Image, error)
	Sent    func(office.DraftFile) (*os.File, error) // opens what was sent; fs.ErrNotExist once deleted
}

// match returns whether an open file, j's, is what was sent. It fails if nothing could examine the documents, or with errUnjudged if
// they made no sense.
func (r *Service) match(ctx context.Context, j office.Job, file *os.File) (office.Match, error) {
	sent, err := r.sentFor(j)
	if err != nil || sent == nil {
		return office.Match{State: office.MatchNone}, err
	}
	result, err := r.compare(ctx, *sent, file)
	switch {
	case err == nil:
		return matchOf(result), nil
	case ctx.Err() != nil, errors.Is(err, preview.ErrNotStarted):
		return office.Match{}, err
	}
	m := unread(err)
	if m.Why == office.WhyDamaged {
		return m, fmt.Errorf("%w: %w", errUnjudged, err)
	}
	r.Log.Info("a document could not be compared", "file", j.Target, "err", err)
	return m, nil
}

// unread says why documents could not be compared.
func unread(err error) office.Match {
	m := office.Match{State: office.MatchUnread, Why: office.WhyDamaged}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.Why = office.WhyNotKept
	case errors.Is(err, preview.ErrNotPDF):
		m.Why = office.WhyConverted
	case errors.Is(err, preview.ErrTooLarge):
		m.Why = office.WhyLarge
	}
	return m
}

// sentFor returns the file that was sent for what j saved; nil if unknown. Nothing was sent for certificates, and master files
// join several documents.
func (r *Service) sentFor(j office.Job) (*office.DraftFile, error) {
	if j.Kind != office.FileSigned {
		return nil, nil
	}
	var p office.Package
	d, err := data.Read(r.Data, "what was sent", func(tx *store.Tx) (d office.Draft, err error) {
		if p, _, err = tx.Package(j.PackageID); err == nil && p.DraftID != "" {
			d, _, err = tx.Draft(p.DraftID)
		}
		return d, err
	})
	if store.OfOneRecord(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(p.Documents, func(x office.Document) bool { return x.ID == j.DocumentID })
	if at < 0 {
		return nil, nil
	}
	file := slices.IndexFunc(d.Files, func(f office.DraftFile) bool { return f.ExternalID == p.Documents[at].ExternalID })
	if file < 0 {
		return nil, nil
	}
	return &d.Files[file], nil
}

// compare compares an open file with what was sent for it.
func (r *Service) compare(ctx context.Context, sent office.DraftFile, file *os.File) (result compare.Result, err error) {
	original, err := r.deps.Sent(sent)
	if err != nil {
		return result, err
	}
	defer original.Close()
	answer, err := r.deps.Compare(ctx, original, file)
	if err == nil {
		err = json.Unmarshal(answer, &result)
	}
	return result, err
}

// mostWords limits how many places with new words a line lists.
const mostWords = 8

// matchOf sums up a result in one line. Of several changes it prefers one whose words are known.
func matchOf(r compare.Result) office.Match {
	m := office.Match{State: office.MatchState(r.State), Why: office.MatchWhy(r.Why)}
	if r.State != compare.Changed {
		var words []string
		for _, p := range r.Places {
			if p.Kind == compare.KindAdded && p.Now != "" && !slices.Contains(words, p.Now) {
				words = append(words, p.Now)
			}
		}
		if len(words) > mostWords {
			words = append(words[:mostWords], "…")
		}
		m.Now = strings.Join(words, "; ")
		return m
	}
	worst := slices.MaxFunc(r.Places, func(a, b compare.Place) int { return says(a) - says(b) })
	m.Page, m.Was, m.Now, m.More = worst.Page, worst.Was, worst.Now, -1
	for _, p := range r.Places {
		if p.Kind.Changed() {
			m.More++
		}
	}
	switch worst.Kind {
	case compare.KindMissing:
		m.Why, m.Was = office.WhyMissing, ""
	case compare.KindExchange, compare.KindSize, compare.KindInserted:
		m.Was, m.Now = "", ""
	}
	return m
}

// says ranks how much a place tells people.
func says(p compare.Place) (n int) {
	if p.Kind.Changed() {
		n = 4
	}
	if p.Was != "" {
		n++
	}
	if p.Now != "" {
		n++
	}
	return n
}

// Differences finds again where a saved file and what was sent for it differ. The error is for people.
func (r *Service) Differences(ctx context.Context, packageID string, f office.File) (result compare.Result, err error) {
	err = r.withSent(packageID, f, func(sent office.DraftFile, file *os.File) (err error) {
		result, err = r.compare(ctx, sent, file)
		return err
	})
	if err == nil && result.State == compare.Unread {
		err = message.Error(matchOf(result).Text(), nil)
	}
	return result, err
}

// Page draws a page, counted from 1, of a saved file, or with original of what was sent for it, width pixels wide. The error is for
// people.
func (r *Service) Page(ctx context.Context, packageID string, f office.File, original bool, page, width int) (picture image.Image, err error) {
	err = r.withSent(packageID, f, func(sent office.DraftFile, file *os.File) (err error) {
		if original {
			if file, err = r.deps.Sent(sent); err != nil {
				return err
			}
			defer file.Close()
		}
		picture, err = r.deps.Draw(ctx, file, page, width)
		return err
	})
	return picture, err
}

// withSent calls do with an open saved file and what was sent for it.
func (r *Service) withSent(packageID string, f office.File, do func(sent office.DraftFile, file *os.File) error) error {
	j, err := data.Read(r.Data, "a file of a package", func(tx *store.Tx) (office.Job, error) {
		j, _, err := tx.Job(office.Job{PackageID: packageID, DocumentID: f.DocumentID, Kind: f.Kind}.Key())
		return j, err
	})
	if err != nil {
		return err
	}
	sent, err := r.sentFor(j)
	if err == nil && sent == nil {
		err = message.Error(office.Match{State: office.MatchUnread, Why: office.WhyNotKept}.Text(), nil)
	}
	if err != nil {
		return err
	}
	file, _, err := r.openSaved(j)
	if err != nil {
		return message.Error(message.FileNotRead(filepath.Base(f.Path)), err)
	}
	defer file.Close()
	if err = do(*sent, file); err != nil {
		return message.Error(unread(err).Text(), err)
	}
	return nil
}

// sentPart adds to a proof the files with which a package was sent, as far as they are kept.
func (r *Service) sentPart(ctx context.Context, b *evidence.Bundle, p office.Package) (part evidence.Part, err error) {
	part.Title = r.say(message.ProofSent())
	if p.DraftID == "" {
		return part, nil
	}
	d, _, err := r.Data.Draft(p.DraftID)
	if err != nil {
		return part, err
	}
	for _, f := range d.Files {
		file, err := r.deps.Sent(f)
		if errors.Is(err, fs.ErrNotExist) {
			part.Add(f.Name, "SHA-256 "+f.SHA256+"\n"+r.say(message.ProofNotKept()))
			continue
		}
		if err != nil {
			return part, err
		}
		as, sum := b.Add("sent", f.Name, archive.Reader{Ctx: ctx, Reader: file})
		file.Close()
		part.Add(as, "SHA-256 "+sum)
	}
	return part, nil
}
