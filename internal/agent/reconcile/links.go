package reconcile

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
)

// ErrNoLinks matches an error that means that the service gives out no links to sign with, whoever asks.
var ErrNoLinks = errors.New("the service has no links to sign with")

// EditPage returns the address of the service's own editor for a package, where fields are placed.
func (r *Service) EditPage(ctx context.Context, packageID string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client, _ office.Package) (esign.SignLink, error) {
		return client.EditLink(ctx, packageID)
	})
}

// SignerPage returns the address of the page where a person signs, whom signer names: by id, e-mail address or name. It is
// asked for at the moment of use, because it does not live long, and is kept nowhere: whoever has it can sign.
func (r *Service) SignerPage(ctx context.Context, packageID, signer string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client, p office.Package) (esign.SignLink, error) {
		s, ok := p.Find(signer)
		switch {
		case !ok:
			return esign.SignLink{}, message.Error(message.NoSuchSigner(signer), nil)
		case s.ID == "":
			return esign.SignLink{}, message.Error(message.SignerNotListed(), nil)
		case !p.StillSigns(s): // a service may hand out a link all the same
			return esign.SignLink{}, message.Error(message.NothingToSign(s.DisplayName()), nil)
		}
		link, err := client.SignLink(ctx, packageID, s.ID)
		var e *esign.Error
		switch {
		case esign.NotOffered(err):
			return link, message.Error(message.NoLinks(), errors.Join(ErrNoLinks, err))
		case errors.As(err, &e) && e.Status == http.StatusForbidden:
			return link, message.Error(message.MayNotHaveLinks(), err)
		}
		return link, err
	})
}

func (r *Service) link(ctx context.Context, packageID string, ask func(*esign.Client, office.Package) (esign.SignLink, error)) (string, error) {
	client, online := r.deps.Online()
	if !online {
		return "", message.Error(message.SignInFirst(), nil)
	}
	p, err := r.stored(packageID)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(p.ID) == "":
		return "", message.Error(message.NoSuchPackage(packageID), nil)
	case p.Service != "" && p.Service != client.Home():
		return "", message.Error(message.AtAnotherService(), nil)
	}
	link, err := ask(client, p)
	return link.URL, r.deps.Answered(ctx, err)
}
