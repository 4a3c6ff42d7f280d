package agent

import (
	"context"

	"countersign/internal/message"
	"countersign/internal/office"
)

// ForPeople is an Agent whose errors all carry a message for people, see message.For: what the window talks to.
type ForPeople struct{ *Agent }

// plain is err with what people are told of it.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return message.Error(Message(err), err)
}

// Configure is Agent.Configure.
func (p ForPeople) Configure(ctx context.Context, s office.Settings, secrets office.Secrets) error {
	return plain(p.Agent.Configure(ctx, s, secrets))
}

// ReadOffice is Agent.ReadOffice.
func (p ForPeople) ReadOffice(path string) (OfficeFile, error) {
	o, err := p.Agent.ReadOffice(path)
	return o, plain(err)
}

// SignIn is Agent.SignIn.
func (p ForPeople) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	return plain(p.Agent.SignIn(ctx, o, open))
}

// Paste is Agent.Paste.
func (p ForPeople) Paste(address string) error { return plain(p.Agent.Paste(address)) }

// SignOut is Agent.SignOut.
func (p ForPeople) SignOut(ctx context.Context) error { return plain(p.Agent.SignOut(ctx)) }

// Send is Agent.Send.
func (p ForPeople) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	state, err := p.Agent.Send(ctx, d, progress)
	return state, plain(err)
}

// Hold is Agent.Hold.
func (p ForPeople) Hold(d office.NewPackage) (string, error) {
	id, err := p.Agent.Hold(d)
	return id, plain(err)
}

// Act is Agent.Act.
func (p ForPeople) Act(ctx context.Context, i Issue) error { return plain(p.Agent.Act(ctx, i)) }

// SignerPage is Agent.SignerPage.
func (p ForPeople) SignerPage(ctx context.Context, packageID, signerID string) (string, error) {
	address, err := p.Agent.SignerPage(ctx, packageID, signerID)
	return address, plain(err)
}

// SaveAgain is Agent.SaveAgain.
func (p ForPeople) SaveAgain(packageID string) error { return plain(p.Agent.SaveAgain(packageID)) }

// EditPage is Agent.EditPage.
func (p ForPeople) EditPage(ctx context.Context, packageID string) (string, error) {
	address, err := p.Agent.EditPage(ctx, packageID)
	return address, plain(err)
}

// RetryEvent is Agent.RetryEvent.
func (p ForPeople) RetryEvent(eventID string) error { return plain(p.Agent.RetryEvent(eventID)) }

// TestService is Agent.TestService.
func (p ForPeople) TestService(ctx context.Context, s office.Settings) error {
	return plain(p.Agent.TestService(ctx, s))
}

// TestTunnel is Agent.TestTunnel.
func (p ForPeople) TestTunnel(ctx context.Context, s office.Settings, secrets office.Secrets) (string, error) {
	address, err := p.Agent.TestTunnel(ctx, s, secrets)
	return address, plain(err)
}

// PreviewName is Agent.PreviewName.
func (p ForPeople) PreviewName(s office.Settings) (string, error) {
	name, err := p.Agent.PreviewName(s)
	return name, plain(err)
}
