package reconcile

import (
	"context"

	"countersign/internal/esign"
	"countersign/internal/message"
)

// EditPage returns the address of the service's own editor for a package, where fields are placed.
func (r *Room) EditPage(ctx context.Context, packageID string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client) (esign.SignLink, error) { return client.EditLink(ctx, packageID) })
}

// SignerPage returns the address of the page where that person signs, where the service gives one out.
func (r *Room) SignerPage(ctx context.Context, packageID, signerID string) (string, error) {
	return r.link(ctx, packageID, func(client *esign.Client) (esign.SignLink, error) { return client.SignLink(ctx, packageID, signerID) })
}

func (r *Room) link(ctx context.Context, packageID string, ask func(*esign.Client) (esign.SignLink, error)) (string, error) {
	client, online := r.needs.Online()
	if !online {
		return "", message.Error(message.SignInFirst(), nil)
	}
	p, err := r.stored(packageID)
	if err != nil {
		return "", err
	}
	if p.Service != "" && p.Service != client.Home() {
		return "", message.Error(message.AtAnotherService(), nil)
	}
	link, err := ask(client)
	return link.URL, r.needs.Answered(ctx, err)
}
