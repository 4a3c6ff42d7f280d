package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/office"
)

// verifyCmd checks documents: were they sent or saved here, are they sealed and by whom, and are they unchanged since.
type verifyCmd struct {
	Files []string `arg:"" type:"path" help:"PDF documents, saved here or from anywhere else, or folders of them."`
	After string   `type:"path" help:"Go on behind this file, after which it was stopped before." placeholder:"FILE"`
	jsonFlag
}

type verified struct {
	Path      string           `json:"path"`
	Known     office.Knowledge `json:"known"`      // saved, sent, differs (another document has its name) or unknown
	PackageID string           `json:"package_id"` // whose it is
	Package   string           `json:"package"`
	At        *time.Time       `json:"at"`   // when it was saved or sent
	Text      string           `json:"text"` // in words
	Seal      shownSeal        `json:"seal"`
	Sent      shownMatch       `json:"sent"`    // of a saved document
	Wrong     bool             `json:"wrong"`   // somebody should look at it
	Problem   string           `json:"problem"` // why the file could not be read, in words
}

// shownSeal is what is known of a document's digital seal.
type shownSeal struct {
	State   office.SealState `json:"state"`   // none, intact, stranger, filled, stamped, revoked, changed, broken, unjudged; empty before it was examined
	Text    string           `json:"text"`    // in words
	Signer  string           `json:"signer"`  // whom its certificate names
	Issuer  string           `json:"issuer"`  // who vouches for that
	At      *time.Time       `json:"at"`      // when it was sealed
	Stamped string           `json:"stamped"` // the authority that says so; otherwise it is what the signer's clock said
	Vouched bool             `json:"vouched"` // the document carries its authority's word that the certificate was not revoked
}

func showSeal(s office.Seal) shownSeal {
	return shownSeal{s.State, s.Text().String(), s.Signer, s.Issuer, moment(s.At), s.Stamped, s.Vouched}
}

func (c *verifyCmd) Run(r *run) error {
	o, err := r.office(look)
	if err != nil {
		return err
	}
	defer o.Close()
	all, wrong, count, last := []verified{}, 0, 0, "" // all is only for JSON: a folder can have many files
	_, err = callVerify.news(r.ctx, o, verifyRequest{c.Files, c.After}, func(v verified) error {
		last = v.Path
		if count++; v.Wrong {
			wrong++
		}
		if c.JSON {
			all = append(all, v)
			return nil
		}
		return r.out.Line("%s: %s", filepath.Base(v.Path), v.Text)
	})
	if err == nil && c.JSON {
		err = c.print(r, all, func(*terminal.Writer) error { return nil })
	}
	if err == nil && count == 0 && !c.JSON {
		err = r.out.Line("There is no document to check.")
	}
	if r.ctx.Err() != nil && last != "" && !c.JSON {
		err = &failure{"Stopped. Go on with --after " + last}
	}
	if err == nil && wrong > 0 {
		err = &failure{fmt.Sprintf("%d of %d documents are not as they were, or cannot be checked.", wrong, count)}
	}
	return err
}

// verifyRequest asks about files and folders, continuing after a given file.
type verifyRequest struct {
	Files []string
	After string
}

func (l *local) verify(ctx context.Context, q verifyRequest, tell func(verified) error) (last verified, err error) {
	return last, l.agent.Verify(ctx, q.Files, q.After, func(v office.Verified) error {
		return tell(verified{v.Path, v.Known, v.PackageID, v.Package, moment(v.At), v.Text().String(), showSeal(v.Seal), shownMatch{v.Match.State, v.Match.Text().String()}, v.Wrong(), v.Problem.String()})
	})
}

// recordCmd prints the current end of the record, or checks a line of it that somebody has kept.
type recordCmd struct {
	Line []string `arg:"" optional:"" help:"A line that this command printed before, or the folder of a copy of the record: says whether it fits today's record."`
	jsonFlag
}

type recordSaid struct {
	office.Record
	Text string `json:"text,omitempty"` // of the line or copy
	Fits bool   `json:"fits"`           // it fits
}

func (c *recordCmd) Run(r *run) error {
	line := strings.Join(c.Line, " ")
	if info, err := os.Stat(line); err == nil && info.IsDir() {
		if line, err = filepath.Abs(line); err != nil { // a running Countersign has another working directory
			return err
		}
	}
	said, err := callRecord.alone(r, look, line)
	if err != nil {
		return err
	}
	err = c.print(r, said, func(w *terminal.Writer) error {
		if err := w.Line("%s", cmp.Or(said.Text, said.Line)); err != nil || said.Text != "" || said.Stamped == 0 {
			return err
		}
		return w.Line("Stamped up to %d by %s at %s.", said.Stamped, said.StampedBy, said.StampedAt.UTC().Format(time.RFC3339))
	})
	if err == nil && said.Text != "" && !said.Fits {
		err = &failure{"The record does not fit."}
	}
	return err
}

func (l *local) record(_ context.Context, line string) (said recordSaid, err error) {
	if line != "" {
		text, fits, err := l.agent.CheckRecord(line)
		return recordSaid{Text: text.String(), Fits: fits}, err
	}
	said.Record, err = l.agent.RecordState()
	return said, err
}

// proveCmd writes proof about a package for somebody without Countersign.
type proveCmd struct {
	Package string `arg:"" help:"The package: its name, id, or the beginning of its id."`
	File    string `arg:"" type:"path" help:"The new ZIP file."`
}

type proveRequest struct{ Package, File string }

func (c *proveCmd) Run(r *run) error {
	if _, err := callProve.alone(r, look, proveRequest{c.Package, c.File}); err != nil {
		return err
	}
	return r.out.Line("Written: %s", c.File)
}

func (l *local) prove(ctx context.Context, q proveRequest) (nothing, error) {
	id, err := l.find(q.Package)
	if err != nil {
		return nothing{}, err
	}
	return nothing{}, l.agent.Prove(ctx, id, q.File, false)
}

// trustCmd lists or changes the trusted issuers of seals' certificates.
type trustCmd struct {
	File   string `arg:"" optional:"" type:"path" help:"Trust those whom this file names: a certificate (PEM or DER), or the trusted list of an EU country (XML)."`
	Yes    bool   `help:"Do not ask whether they are to be trusted."`
	Remove string `help:"Trust the one with this SHA-256 fingerprint no more." placeholder:"FINGERPRINT"`
}

// authority is a trusted issuer.
type authority struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // SHA-256, in hexadecimal
}

// trustRequest names a file to be read, and by their fingerprints those in it to trust, or those no longer to trust; an empty request
// asks what is trusted.
type trustRequest struct {
	File        string
	Add, Remove []string
}

func (c *trustCmd) Run(r *run) error {
	o, err := r.office(look)
	if err != nil {
		return err
	}
	defer o.Close()
	all, err := callTrust.of(r.ctx, o, trustRequest{File: c.File})
	if err != nil {
		return err
	}
	if c.Remove != "" {
		i := slices.IndexFunc(all, func(a authority) bool { return strings.EqualFold(a.Fingerprint, strings.ReplaceAll(c.Remove, ":", "")) })
		if c.File != "" || i < 0 {
			return &usage{"--remove takes the fingerprint of one that is trusted, as countersign trust prints it."}
		}
		_, err = callTrust.of(r.ctx, o, trustRequest{Remove: []string{all[i].Fingerprint}})
		return err
	}
	for _, a := range all {
		if err := r.out.Line("%s  %s", a.Fingerprint, a.Name); err != nil {
			return err
		}
	}
	if c.File == "" {
		return nil
	}
	if !c.Yes && !r.agrees("Rely on every document that they vouch for? (yes/no): ") {
		return &failure{"Nothing was changed. Confirm with yes, or use --yes."}
	}
	q := trustRequest{File: c.File}
	for _, a := range all {
		q.Add = append(q.Add, a.Fingerprint)
	}
	_, err = callTrust.of(r.ctx, o, q)
	return err
}

func (l *local) trust(ctx context.Context, q trustRequest) (all []authority, err error) {
	var found []*x509.Certificate
	if q.File != "" {
		found, err = l.agent.Authorities(ctx, q.File)
	} else {
		found, err = l.agent.TrustedSeals()
	}
	var add, remove []*x509.Certificate
	for _, c := range found {
		a := authority{c.Subject.String(), fmt.Sprintf("%x", sha256.Sum256(c.Raw))}
		all = append(all, a)
		switch {
		case slices.Contains(q.Add, a.Fingerprint):
			add = append(add, c)
		case slices.Contains(q.Remove, a.Fingerprint):
			remove = append(remove, c)
		}
	}
	if err == nil && len(add) > 0 {
		err = l.agent.TrustSeals(add...)
	}
	if err == nil && len(remove) > 0 {
		err = l.agent.DistrustSeals(remove...)
	}
	return all, err
}
