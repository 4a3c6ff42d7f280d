package officetest

import (
	"context"
	"strings"

	"countersign/internal/agent"
	"countersign/internal/office"
)

// TestService is env.Office's; OnTestService decides, nil is content.
func (o *Office) TestService(_ context.Context, s office.Settings) error {
	if o.OnTestService != nil {
		return o.OnTestService(s)
	}
	return nil
}

// TestTunnel is env.Office's; OnTestTunnel decides, nil is content.
func (o *Office) TestTunnel(_ context.Context, s office.Settings, secrets office.Secrets) (string, error) {
	if o.OnTestTunnel != nil {
		return o.OnTestTunnel(s, secrets)
	}
	return "https://office.ngrok.app", nil
}

// PreviewName is env.Office's; OnPreviewName decides, nil fills in the lease.
func (o *Office) PreviewName(s office.Settings) (string, error) {
	if o.OnPreviewName != nil {
		return o.OnPreviewName(s)
	}
	return strings.NewReplacer("{package}", "Lease Sonnenweg 4", "{document}", "Lease", "{date}", "2026-11-21",
		"{signer}", "Jan Weber", "{reference}", "2026-118", "{kind}", "signed").Replace(s.NameTemplate) + ".pdf", nil
}

// Services is env.Office's.
func (o *Office) Services() []agent.Preset {
	return []agent.Preset{{Name: "Other service", SignatureHeader: "X-Service-Signature"},
		{Name: "Example Sign", AuthURL: "https://sign.example.com", BaseURL: "https://sign.example.com", SignatureHeader: "X-Example-Signature"}}
}

// About is env.Office's.
func (o *Office) About() agent.About {
	return agent.About{Version: "1.0", DataDir: "/home/office/.config/countersign", LogFile: "/home/office/.config/countersign/logs/countersign.log"}
}

// NetworkPage is env.Office's.
func (o *Office) NetworkPage() string { return "http://login.network.test/" }

// Diagnostics is env.Office's.
func (o *Office) Diagnostics(context.Context) string { return "Countersign 1.0\n" }
