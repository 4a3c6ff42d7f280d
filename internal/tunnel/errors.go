package tunnel

import (
	"fmt"
	"strings"

	"countersign/internal/message"
)

// Kind sorts what can be wrong with a tunnel by what a person can do about it.
type Kind string

const (
	Token          Kind = "token"            // ngrok does not accept the authtoken
	DomainInUse    Kind = "domain_in_use"    // another agent has the address; normal for a minute after a sleep
	DomainNotYours Kind = "domain_not_yours" // the address belongs to another account or to none
	Quota          Kind = "quota"            // the ngrok plan's limits
	Network        Kind = "network"          // no connection, or it was lost
	Certificate    Kind = "certificate"      // the network opens encrypted connections, or a certificate is wrong
	Listen         Kind = "listen"           // an address on this computer cannot be used
	Stopped        Kind = "stopped"          // ngrok closed this one address
	Refused        Kind = "refused"          // ngrok said no with a code this package does not know
	Setting        Kind = "setting"          // a setting cannot be understood
)

// Error is why a tunnel is not up. It holds no secret: neither its text nor its cause repeats what ngrok answered.
type Error struct {
	Kind Kind
	Code string // ERR_NGROK_nnn where ngrok gave one
	// Address is what the message names: the public domain, the server's host:port, or the local address.
	Address string

	permanent bool
	told      message.Message // Network: what whoever dials says of it
	signer    string          // Certificate: who has signed the one that was shown
	busy      bool            // Listen: another program has the port
	cause     error           // from this computer only; nil for an answer of ngrok
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

// Unwrap returns the technical cause, if it came from this computer.
func (e *Error) Unwrap() error { return e.cause }

// Temporary says whether trying again with the same settings may help.
func (e *Error) Temporary() bool { return !e.permanent }

// Message is what people are told: what happened and what to do.
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

// about names the address, where one is known.
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
