package agent

import (
	"context"
	"crypto/x509"

	"countersign/internal/agent/account"
	"countersign/internal/agent/network"
	"countersign/internal/agent/webhook"
	"countersign/internal/message"
	"countersign/internal/office"
)

// What people ask of the account; see package account.
type (
	SignInError = account.SignInError
	FirstRun    = account.FirstRun
	Preset      = account.Preset
	// SignInOptions choose how a sign-in runs.
	SignInOptions = account.SignInOptions
	// ConfigError is a configuration that was not accepted.
	ConfigError = office.ConfigError
)

// Settings returns the current settings, under the rules that were in force when they were.
func (a *Agent) Settings() office.Settings {
	for {
		rules, turn := a.ruling.now()
		s := a.account.Settings()
		if _, now := a.ruling.now(); now == turn {
			return rules.Into(s)
		}
	}
}

// HasSecrets reports which secrets are kept, never what they are.
func (a *Agent) HasSecrets() (clientSecret, ngrokAuthtoken bool, err error) {
	return a.account.HasSecrets()
}

// SignIn runs a whole sign-in: it hands the address to show in the browser to open, waits for the way back the
// settings chose (or Paste), and returns once the tokens are kept. It ends early with ctx, or when another SignIn
// starts.
func (a *Agent) SignIn(ctx context.Context, o SignInOptions, open func(address string) error) error {
	if _, away := a.movedAway(); away {
		return message.Error(message.MovingNow(), nil)
	}
	inBrowser := false
	err := a.account.SignIn(ctx, o, func(address string) error {
		inBrowser = true
		return open(address)
	})
	if inBrowser && !network.Suspicious(err) { // what the person or the service has said
		return err
	}
	return a.orNetwork(ctx, a.Settings(), err)
}

// Paste completes the running sign-in with the address the browser ended on.
func (a *Agent) Paste(address string) error { return a.account.Paste(address) }

// SignOut ends the sign-in here, and tells the service; the error says what could not be done there.
func (a *Agent) SignOut(ctx context.Context) error { return a.account.SignOut(ctx) }

// KeepFirstRun keeps what was entered on the first run, sealed. Configure forgets it.
func (a *Agent) KeepFirstRun(f FirstRun) error { return a.account.KeepFirstRun(f) }

// FirstRun is account.Service.FirstRun.
func (a *Agent) FirstRun() (f FirstRun, kept bool, err error) { return a.account.FirstRun() }

// Services returns the presets, the neutral one first.
func (a *Agent) Services() []Preset { return a.account.Presets() }

// TestService asks whether there is a signing service at both addresses of s; see account.Service.Test.
func (a *Agent) TestService(ctx context.Context, s office.Settings) error {
	return a.orNetwork(ctx, s, a.account.Test(ctx, s))
}

// Refusal is a sample of the requests that were refused.
type Refusal = webhook.Refusal

// Refused returns the samples, newest first.
func (a *Agent) Refused() []Refusal { return a.webhook.Refused() }

// TestTunnel opens the public address of s for a moment and returns it; see webhook.Service.Test.
func (a *Agent) TestTunnel(ctx context.Context, s office.Settings, secrets office.Secrets) (publicURL string, err error) {
	publicURL, err = a.webhook.Test(ctx, s, secrets)
	return publicURL, a.orNetwork(ctx, s, err)
}

// orNetwork is err of a trial or a sign-in, or that the network asks for a sign-in in the browser first, which is why. Health then
// says so too, with a way to its page, until it is free.
func (a *Agent) orNetwork(ctx context.Context, s office.Settings, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, asks := a.network.Asks(ctx, s); asks {
		a.network.Look()
		return message.Error(message.NetworkWantsBrowser(), err)
	}
	return err
}

// NetworkPage is the address at which the network wants people to sign in, while health says that it does.
func (a *Agent) NetworkPage() string { return a.network.Page() }

// LocalhostCertificate is the certificate of addresses on this computer, for whoever has to trust it.
func (a *Agent) LocalhostCertificate() (*x509.Certificate, error) {
	cert, err := a.account.Certificate()
	return cert.Leaf, err
}
