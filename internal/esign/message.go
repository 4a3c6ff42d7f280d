package esign

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"countersign/internal/message"
)

// Message is what people are told of an error of this package: what happened and, where there is one, the thing to do
// about it. It is nothing for nil. When and whether something is tried again is for the caller to add.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, ErrSignedOut):
		return message.SignInLapsed()
	case errors.Is(err, ErrOutcomeUnknown):
		return message.NotConfirmed()
	case errors.Is(err, context.DeadlineExceeded):
		return message.ServiceSilent()
	}
	return message.Unexpected()
}

// Message is what people are told.
func (e *Error) Message() message.Message {
	switch e.Kind {
	case SignedOut:
		return message.SignInLapsed()
	case Denied:
		return message.SignInDenied()
	case BadClient:
		return message.ClientRefused()
	case Forbidden:
		return e.because(message.NotAllowed, message.NotAllowedBecause)
	case NotFound:
		return message.ServiceKnowsNot()
	case Refused:
		if m, known := refusals[e.Code]; known {
			return m
		}
		return e.because(message.ServiceRefused, message.ServiceRefusedBecause)
	case TooMany:
		return message.ServiceBusy()
	case Server:
		return message.ServiceAiling()
	case Network:
		return networkMessage(e.err)
	case NotReady:
		return message.NotReady()
	case BadAnswer:
		switch {
		case errors.Is(e.err, errRejectedToken):
			return message.SignInUnverified()
		case errors.Is(e.err, errStaleToken):
			return message.SignInStale()
		case errors.Is(e.err, errNoKeys):
			return message.SignInNoKeys()
		case errors.Is(e.err, errNoTokens):
			return message.SignInOdd()
		}
		return message.ServiceOdd()
	case Unknown:
		return message.NotConfirmed()
	case Invalid:
		return e.told
	case NotKept:
		return message.SignInNotKept()
	case Interrupted:
		return message.Interrupted()
	}
	return message.Unexpected()
}

// refusals are the error codes that say what to do about them (service-facts.md, 10).
var refusals = map[string]message.Message{
	"package_duplicate_recipients":        message.CopiesTwice(),
	"package_duplicate_recipients_signer": message.CopiesSign(),
}

// because uses the service's own words when there are any.
func (e *Error) because(without func() message.Message, with func(why string) message.Message) message.Message {
	if why := cmp.Or(e.Said, e.Code); why != "" {
		return with(why)
	}
	return without()
}

func networkMessage(err error) message.Message {
	var (
		dns   *net.DNSError
		verif *tls.CertificateVerificationError
		auth  x509.UnknownAuthorityError
		host  x509.HostnameError
		op    *net.OpError
	)
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.As(err, &dns):
		return message.ServiceNotFound()
	case errors.As(err, &auth) && errors.As(err, &verif) && len(verif.UnverifiedCertificates) > 0:
		return distrusted(verif.UnverifiedCertificates)
	case errors.As(err, &verif), errors.As(err, &auth), errors.As(err, &host):
		return message.ServiceDistrusted()
	case errors.As(err, &op) && op.Op == "dial":
		return message.ServiceUnreachable()
	}
	return message.ServiceSilent()
}

// distrusted is a connection to a server whose certificates nobody vouches for: the network may have opened it.
func distrusted(shown []*x509.Certificate) message.Message {
	by := shown[len(shown)-1].Issuer
	signer := cmp.Or(by.CommonName, strings.Join(by.Organization, " "))
	if len(shown[0].DNSNames) == 0 || signer == "" {
		return message.ServiceDistrusted()
	}
	return message.ServiceInspected(signer, shown[0].DNSNames[0])
}
