package tunnel

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"golang.ngrok.com/ngrok/v2"

	"countersign/internal/message"
)

// Step is one of those on the way to ngrok.
type Step string

const (
	StepName    Step = "name"    // the server's name is found
	StepConnect Step = "connect" // a connection, through a proxy where there is one
	StepTLS     Step = "tls"     // it is encrypted, and nobody opens it
	StepTunnel  Step = "tunnel"  // ngrok answers in its own protocol
)

// Steps are all of them, in order.
var Steps = []Step{StepName, StepConnect, StepTLS, StepTunnel}

// Diagnosis is how far the way to ngrok leads.
type Diagnosis struct {
	Failed Step   // empty when all of it works; what comes behind was not tried
	Err    *Error // why
}

// Diagnose tries the way to ngrok step by step, with the SDK's own probe. It needs no authtoken and sends none. byProxy says
// that a proxy looks the name up.
func Diagnose(ctx context.Context, c NgrokConfig, byProxy bool) Diagnosis {
	host, _, err := net.SplitHostPort(c.server())
	if err != nil {
		return Diagnosis{StepName, &Error{Kind: Setting, Address: c.server(), permanent: true}}
	}
	if _, err := netip.ParseAddr(host); err != nil && !byProxy {
		if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
			return Diagnosis{StepName, &Error{Kind: Network, Address: c.server(), told: message.NgrokNameUnknown(host), cause: err}}
		}
	}
	options := []ngrok.AgentOption{ngrok.WithDialer(directly(c.dial)), ngrok.WithLogger(sdkLogger(c.log(), c.secrets()))}
	if c.ConnectURL != "" {
		options = append(options, ngrok.WithAgentConnectURL(c.ConnectURL))
	}
	if c.CAs != nil {
		options = append(options, ngrok.WithAgentConnectCAs(c.CAs))
	}
	agent, err := ngrok.NewAgent(options...)
	if err != nil {
		return Diagnosis{StepConnect, c.explain(err)}
	}
	probe, can := agent.(ngrok.Diagnoser)
	if !can {
		return Diagnosis{StepConnect, c.explain(errors.New("this version of the SDK does not diagnose"))}
	}
	_, err = probe.Diagnose(ctx, "")
	if err == nil {
		return Diagnosis{}
	}
	e := c.explain(err)
	step, told := StepTunnel, message.NgrokCutOff(c.server())
	switch {
	case ngrok.IsTCPDiagnoseFailure(err):
		step, told = StepConnect, message.NgrokBlocked(c.server())
	case ngrok.IsTLSDiagnoseFailure(err):
		step = StepTLS
	}
	if e.Kind == Network && e.told.IsZero() {
		e.told = told
	}
	return Diagnosis{step, e}
}

// directly is a function as an ngrok.Dialer.
type directly func(ctx context.Context, network, address string) (net.Conn, error)

// Dial implements ngrok.Dialer.
func (d directly) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

// DialContext implements ngrok.Dialer.
func (d directly) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}
