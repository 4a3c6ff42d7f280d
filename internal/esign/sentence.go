package esign

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// Sentence is what to tell a person about an error of this package: what happened and, where there is one, the thing
// to do about it. It is "" for nil. When and whether something is tried again is for the caller to add.
func Sentence(err error) string {
	var (
		e      *Error
		file   *FileError
		config *ConfigError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &file):
		return file.Sentence()
	case errors.As(err, &config):
		return config.Error()
	case errors.As(err, &e):
		return e.Sentence()
	case errors.Is(err, ErrSignedOut):
		return (&Error{Kind: SignedOut}).Sentence()
	case errors.Is(err, ErrOutcomeUnknown):
		return (&Error{Kind: Unknown}).Sentence()
	case errors.Is(err, context.DeadlineExceeded):
		return "The signing service did not answer."
	}
	return "Something went wrong. For details, open the log in Help."
}

// Sentence is the error in plain words.
func (e *Error) Sentence() string {
	switch e.Kind {
	case SignedOut:
		return "Your sign-in has expired. Sign in again to keep saving documents."
	case Denied:
		return "The sign-in was not allowed in the browser. Sign in again and allow access."
	case BadClient:
		return "The signing service does not accept the client ID or the client secret. Check the client ID and the client secret."
	case Forbidden:
		return e.saying("Your account does not have permission to do this. Ask an administrator of the organization, or sign in with another account.",
			"Your account does not have permission to do this: %s")
	case NotFound:
		return "The signing service does not have this, or your account does not have permission to see it."
	case Refused:
		return e.saying("The signing service did not accept the request.", "The signing service did not accept the request: %s")
	case TooMany:
		return "Too many requests were sent to the signing service."
	case Server:
		return "The signing service has a technical problem."
	case Network:
		return networkSentence(e.err)
	case NotReady:
		return "The signing service has not finished the document yet."
	case BadAnswer:
		switch {
		case errors.Is(e.err, errRejectedToken):
			return "What the signing service says about who signed in could not be verified, so the sign-in is not used. Sign in again."
		case errors.Is(e.err, errStaleToken):
			return "What the signing service says about who signed in is out of date, so the sign-in is not used. Check the date and the time of this computer and sign in again."
		case errors.Is(e.err, errNoKeys):
			return "The signing service's keys could not be read, so nobody can say who signed in. Sign in again in a few minutes."
		case errors.Is(e.err, errNoTokens):
			return "The signing service ended the sign-in with an answer that could not be understood. Sign in again."
		}
		return "The signing service gave an answer that could not be understood. Check the addresses of the service."
	case Unknown:
		return "The signing service did not confirm the package; it might have been sent."
	case Invalid:
		return e.Message
	case NotKept:
		return "The sign-in could not be stored on this computer."
	case Interrupted:
		return "This was stopped before it was finished."
	}
	return "Something went wrong. For details, open the log in Help."
}

// saying uses the service's own words when there are any.
func (e *Error) saying(without, with string) string {
	switch {
	case e.Message != "":
		return fmt.Sprintf(with, e.Message)
	case e.Code != "":
		return fmt.Sprintf(with, e.Code)
	}
	return without
}

func networkSentence(err error) string {
	var (
		dns   *net.DNSError
		verif *tls.CertificateVerificationError
		auth  x509.UnknownAuthorityError
		host  x509.HostnameError
		op    *net.OpError
	)
	switch {
	case errors.As(err, &dns):
		return "The signing service was not found. Check the internet connection and the addresses of the service."
	case errors.As(err, &verif), errors.As(err, &auth), errors.As(err, &host):
		return "The connection to the signing service is not trusted. Check the addresses of the service and the date of this computer."
	case errors.As(err, &op) && op.Op == "dial":
		return "The signing service could not be reached. Check the internet connection."
	}
	return "The signing service did not answer."
}
