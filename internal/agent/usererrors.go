package agent

import (
	"context"

	"countersign/internal/message"
	"countersign/internal/office"
)

// UserErrors is an Agent whose errors all carry a message for people, see message.For: what the window talks to.
type UserErrors struct{ *Agent }

// told is err with what people are told of it.
func told(err error) error {
	if err == nil {
		return nil
	}
	return message.Error(Message(err), err)
}

// Configure is Agent.Configure.
func (p UserErrors) Configure(ctx context.Context, s office.Settings, secrets office.Secrets) error {
	return told(p.Agent.Configure(ctx, s, secrets))
}

// ReadOffice is Agent.ReadOffice.
func (p UserErrors) ReadOffice(path string) (OfficeFile, error) {
	o, err := p.Agent.ReadOffice(path)
	return o, told(err)
}

// SignIn is Agent.SignIn.
func (p UserErrors) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	return told(p.Agent.SignIn(ctx, o, open))
}

// Paste is Agent.Paste.
func (p UserErrors) Paste(address string) error { return told(p.Agent.Paste(address)) }

// SignOut is Agent.SignOut.
func (p UserErrors) SignOut(ctx context.Context) error { return told(p.Agent.SignOut(ctx)) }

// Send is Agent.Send.
func (p UserErrors) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	state, err := p.Agent.Send(ctx, d, progress)
	return state, told(err)
}

// Hold is Agent.Hold.
func (p UserErrors) Hold(d office.NewPackage) (string, error) {
	id, err := p.Agent.Hold(d)
	return id, told(err)
}

// Act is Agent.Act.
func (p UserErrors) Act(ctx context.Context, i Issue) error { return told(p.Agent.Act(ctx, i)) }

// SignerPage is Agent.SignerPage.
func (p UserErrors) SignerPage(ctx context.Context, packageID, signerID string) (string, error) {
	address, err := p.Agent.SignerPage(ctx, packageID, signerID)
	return address, told(err)
}

// SaveAgain is Agent.SaveAgain.
func (p UserErrors) SaveAgain(packageID string) error { return told(p.Agent.SaveAgain(packageID)) }

// EditPage is Agent.EditPage.
func (p UserErrors) EditPage(ctx context.Context, packageID string) (string, error) {
	address, err := p.Agent.EditPage(ctx, packageID)
	return address, told(err)
}

// RetryEvent is Agent.RetryEvent.
func (p UserErrors) RetryEvent(eventID string) error { return told(p.Agent.RetryEvent(eventID)) }

// TestService is Agent.TestService.
func (p UserErrors) TestService(ctx context.Context, s office.Settings) error {
	return told(p.Agent.TestService(ctx, s))
}

// TestTunnel is Agent.TestTunnel.
func (p UserErrors) TestTunnel(ctx context.Context, s office.Settings, secrets office.Secrets) (string, error) {
	address, err := p.Agent.TestTunnel(ctx, s, secrets)
	return address, told(err)
}

// PreviewName is Agent.PreviewName.
func (p UserErrors) PreviewName(s office.Settings) (string, error) {
	name, err := p.Agent.PreviewName(s)
	return name, told(err)
}
