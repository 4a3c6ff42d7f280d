package tunnel

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"golang.ngrok.com/ngrok/v2"

	"countersign/internal/message"
)

// Kind classifies what is wrong with a tunnel by what a person can do about it.
type Kind string

const (
	Token          Kind = "token"            // ngrok rejects the authtoken
	DomainInUse    Kind = "domain_in_use"    // another agent has the address; normal for a minute after a sleep
	DomainNotYours Kind = "domain_not_yours" // the address belongs to another account or to none
	Quota          Kind = "quota"            // the ngrok plan's limits are reached
	Network        Kind = "network"          // there is no connection, or it was lost
	Certificate    Kind = "certificate"      // the network intercepts encrypted connections, or a certificate is wrong
	Listen         Kind = "listen"           // an address on this computer cannot be used
	Stopped        Kind = "stopped"          // ngrok stopped this address
	Refused        Kind = "refused"          // ngrok refused with a code that this package does not know
	Setting        Kind = "setting"          // a setting cannot be understood
)

// Error says why a tunnel is not up. It contains no secret: neither its text nor its cause quotes ngrok's answers.
type Error struct {
	Kind Kind
	Code string // ERR_NGROK_nnn where ngrok gave one
	// Address is the address that the message names: the public domain, the server's host:port, or the local address.
	Address string

	permanent bool
	told      message.Message // Network: the dialer's message
	signer    string          // Certificate: the issuer of the one shown
	busy      bool            // Listen: another program has the port
	cause     error           // only causes on this computer; nil for an answer of ngrok
}

// Error is for logs: kind, address, code and cause.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tunnel: %s", e.Kind)
	if e.Address != "" {
		fmt.Fprintf(&b, " %s", e.Address)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	return b.String()
}

// Unwrap returns the technical cause, if it occurred on this computer.
func (e *Error) Unwrap() error { return e.cause }

// Temporary reports whether trying again with the same settings may help.
func (e *Error) Temporary() bool { return !e.permanent }

// Message is the message for people: what happened and what to do.
func (e *Error) Message() message.Message {
	switch e.Kind {
	case Token:
		return message.TokenRefused()
	case DomainInUse:
		return e.about(message.DomainInUse, message.OwnDomainInUse)
	case DomainNotYours:
		return e.about(message.DomainNotYours, message.OwnDomainNotYours)
	case Quota:
		return e.withCode(message.PlanExhausted())
	case Certificate:
		if e.permanent {
			return message.CertificateMissing()
		}
		if e.Address == "" || e.signer == "" {
			return message.NgrokInspected()
		}
		return message.ConnectionInspected(e.signer, e.Address)
	case Listen:
		if e.busy {
			return message.PortInUse(e.Address)
		}
		return message.CannotListen(e.Address)
	case Stopped:
		return e.withCode(e.about(message.NgrokClosed, message.NgrokClosedOwn))
	case Refused:
		return e.withCode(message.NgrokRefused())
	case Setting:
		return message.AddressIncomplete(e.Address)
	}
	if !e.told.IsZero() {
		return e.told
	}
	return e.about(message.NoConnectionTo, message.NoConnection)
}

// about includes the address if it is known.
func (e *Error) about(with func(string) message.Message, without func() message.Message) message.Message {
	if e.Address == "" {
		return without()
	}
	return with(e.Address)
}

func (e *Error) withCode(m message.Message) message.Message {
	if e.Code == "" {
		return m
	}
	return message.Then(m, message.NgrokCode(e.Code))
}

// codeKinds maps the codes of https://ngrok.com/docs/errors/reference on which a person can act.
var codeKinds = map[string]Kind{
	"105":  Token, // does not look like an authtoken
	"106":  Token, // a token of ngrok v1
	"107":  Token, // well-formed but invalid
	"300":  Token, // the credential was revoked
	"4018": Token, // none given

	"334": DomainInUse,

	"313":  DomainNotYours, // subdomains need a paid plan
	"314":  DomainNotYours, // own host names need a paid plan
	"319":  DomainNotYours, // not reserved
	"320":  DomainNotYours, // reserved for another account
	"7117": DomainNotYours, // not reserved
	"7118": DomainNotYours, // not reserved by this account

	"102": Quota, // the last payment failed
	"108": Quota, // too many agents at once
	"324": Quota, // too many addresses at once
}

var codePattern = regexp.MustCompile(`(?i)ERR_NGROK_(\d+)`)

// kindOf classifies the digits of an error code. All codes from 700 to 799 are about rates and volumes.
func kindOf(digits string) Kind {
	if kind, known := codeKinds[digits]; known {
		return kind
	}
	if len(digits) == 3 && digits[0] == '7' {
		return Quota
	}
	return Refused
}

// explain classifies an error of the SDK by the code in its text. It drops the text, because ngrok repeats the authtoken in it.
func (c NgrokConfig) explain(err error) *Error {
	if match := codePattern.FindStringSubmatch(err.Error()); match != nil {
		digits := match[1]
		kind := kindOf(digits)
		e := &Error{Kind: kind, Code: "ERR_NGROK_" + digits}
		switch kind {
		case DomainInUse, DomainNotYours:
			e.Address = c.host()
		}
		e.permanent = kind == Token || kind == DomainNotYours
		return e
	}
	if told, ok := message.Of(err); ok {
		return &Error{Kind: Network, Address: c.server(), told: told, cause: scrubbed{err, c.Authtoken}}
	}
	e := &Error{Kind: Network, Address: c.server(), cause: scrubbed{err, c.Authtoken}}
	var unverified *tls.CertificateVerificationError
	if errors.As(err, &unverified) {
		e.Kind, e.signer = Certificate, signer(unverified.UnverifiedCertificates)
	}
	return e
}

// signer is the issuer of the last certificate that a server showed.
func signer(shown []*x509.Certificate) string {
	if len(shown) == 0 {
		return ""
	}
	by := shown[len(shown)-1].Issuer
	return cmp.Or(by.CommonName, strings.Join(by.Organization, " "))
}

// explainEnd classifies why the SDK's listener ended: ngrok stopped the address, with or without an error code.
func (c NgrokConfig) explainEnd(err error) *Error {
	e := c.explain(err)
	if e.Kind != Network && e.Kind != Refused {
		return e
	}
	return &Error{Kind: Stopped, Code: e.Code, Address: c.host()}
}

// scrubbed is an error whose text has lost a secret. It does not expose the error it wraps.
type scrubbed struct {
	err    error
	secret string
}

func (s scrubbed) Error() string {
	if s.secret == "" {
		return s.err.Error()
	}
	return strings.ReplaceAll(s.err.Error(), s.secret, "[secret]")
}

// Is supports errors.Is, which exposes nothing.
func (s scrubbed) Is(target error) bool { return errors.Is(s.err, target) }

// silent discards the SDK's log: it contains ngrok's answers, which repeat the authtoken.
var silent = slog.New(slog.DiscardHandler)

// Step is a step of connecting to ngrok.
type Step string

const (
	StepName    Step = "name"    // the server's name is resolved
	StepConnect Step = "connect" // a connection is made, through a proxy if there is one
	StepTLS     Step = "tls"     // it is encrypted and not intercepted
	StepTunnel  Step = "tunnel"  // ngrok answers in its own protocol
)

// Steps are all steps, in order.
var Steps = []Step{StepName, StepConnect, StepTLS, StepTunnel}

// Diagnosis is the result of Diagnose.
type Diagnosis struct {
	Failed Step   // empty if everything works; later steps were not tried
	Err    *Error // why
}

// Diagnose tries to connect to ngrok step by step, with the SDK's own probe. It needs no authtoken and sends none. byProxy
// says that a proxy resolves the name.
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
	agent, err := ngrok.NewAgent(c.options(c.dial)...)
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

// directly makes a function an ngrok.Dialer.
type directly func(ctx context.Context, network, address string) (net.Conn, error)

func (d directly) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

func (d directly) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}
