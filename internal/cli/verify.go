package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
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
