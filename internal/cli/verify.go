package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/cli/terminal"
	"countersign/internal/message"
	"countersign/internal/office"
)

// verifyCmd says of documents whether they are sealed, by whom, and whether they are unchanged since.
type verifyCmd struct {
	Files []string `arg:"" type:"path" help:"PDF documents, saved here or from anywhere else."`
	jsonFlag
}

// verified is what is known of one file.
type verified struct {
	Path    string    `json:"path"`
	Seal    shownSeal `json:"seal"`
	Wrong   bool      `json:"wrong"`   // it is not what was sealed
	Problem string    `json:"problem"` // why the file could not be read, in words
}

// shownSeal is what is known of a document's digital seal.
type shownSeal struct {
	State   office.SealState `json:"state"`   // none, intact, stranger, changed, broken, unjudged; empty before it was examined
	Text    string           `json:"text"`    // in words
	Signer  string           `json:"signer"`  // whom its certificate names
	Issuer  string           `json:"issuer"`  // who vouches for that
	At      *time.Time       `json:"at"`      // when it was sealed
	Stamped string           `json:"stamped"` // the authority that says so; otherwise it is what the signer's clock said
}

func showSeal(s office.Seal) shownSeal {
	return shownSeal{s.State, s.Text().String(), s.Signer, s.Issuer, moment(s.At), s.Stamped}
}

func (c *verifyCmd) Run(r *run) error {
	all, err := callVerify.alone(r, look, c.Files)
	if err != nil {
		return err
	}
	err = c.print(r, all, func(w *terminal.Writer) (err error) {
		for _, v := range all {
			if err = w.Line("%s: %s", filepath.Base(v.Path), cmp.Or(v.Problem, v.Seal.Text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	wrong := 0
	for _, v := range all {
		if v.Problem != "" || v.Wrong || v.Seal.State == office.SealUnjudged {
			wrong++
		}
	}
	if wrong > 0 {
		return &failure{fmt.Sprintf("%d of %d documents are not as they were sealed, or cannot be checked.", wrong, len(all))}
	}
	return nil
}

func (l *local) verify(ctx context.Context, paths []string) (all []verified, err error) {
	for _, path := range paths {
		seal, err := l.agent.Verify(ctx, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all = append(all, verified{path, showSeal(seal), seal.Wrong(), message.For(err).String()})
	}
	return all, nil
}

// proveCmd writes what proves a package to somebody without Countersign.
type proveCmd struct {
	Package string `arg:"" help:"The package: its name, id, or the beginning of its id."`
	File    string `arg:"" type:"path" help:"The new ZIP file."`
}

// proveRequest is what is to be proven, and into which file.
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

// trustCmd lists those who are trusted to vouch for seals, and changes that.
type trustCmd struct {
	File   string `arg:"" optional:"" type:"path" help:"Trust those whom this file names: a certificate (PEM or DER), or the trusted list of an EU country (XML)."`
	Yes    bool   `help:"Do not ask whether they are to be trusted."`
	Remove string `help:"Trust the one with this SHA-256 fingerprint no more." placeholder:"FINGERPRINT"`
}

// authority is somebody who vouches for seals.
type authority struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // SHA-256, in hexadecimal digits
	DER         []byte `json:"der"`
}

// trustRequest names a file to be read, or what is to be trusted from now on or no more; without any it asks for what is trusted.
type trustRequest struct {
	File        string
	Add, Remove []authority
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
		_, err = callTrust.of(r.ctx, o, trustRequest{Remove: all[i : i+1]})
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
	_, err = callTrust.of(r.ctx, o, trustRequest{Add: all})
	return err
}

func (l *local) trust(ctx context.Context, q trustRequest) (all []authority, err error) {
	var found []*x509.Certificate
	switch {
	case q.File != "":
		found, err = l.agent.Authorities(ctx, q.File)
	case len(q.Add)+len(q.Remove) > 0:
		if err := l.agent.TrustSeals(parsed(q.Add)...); err != nil {
			return nil, err
		}
		return nil, l.agent.DistrustSeals(parsed(q.Remove)...)
	default:
		found, err = l.agent.TrustedSeals()
	}
	for _, c := range found {
		all = append(all, authority{c.Subject.String(), fmt.Sprintf("%x", sha256.Sum256(c.Raw)), c.Raw})
	}
	return all, err
}

func parsed(list []authority) (all []*x509.Certificate) {
	for _, a := range list {
		if c, err := x509.ParseCertificate(a.DER); err == nil {
			all = append(all, c)
		}
	}
	return all
}
