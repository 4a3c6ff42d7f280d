package tunnel

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"regexp"
	"strings"

	"countersign/internal/message"
)

// codeKinds are the codes of https://ngrok.com/docs/errors/reference that a person can act on.
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

var codePattern = regexp.MustCompile(`ERR_NGROK_(\d+)`)

// kindOf sorts the digits of an error code. All codes from 700 to 799 are about rates and volumes.
func kindOf(digits string) Kind {
	if kind, known := codeKinds[digits]; known {
		return kind
	}
	if len(digits) == 3 && digits[0] == '7' {
		return Quota
	}
	return Refused
}

// explain sorts an error of the SDK. It reads the code wherever the SDK hides it: in a method of one of two names, or
// in the text only (a bind refused during a reconnect). The text itself is dropped, because ngrok repeats the
// authtoken in it.
func (c NgrokConfig) explain(err error) *Error {
	if digits := errorCode(err); digits != "" {
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
		return &Error{Kind: Network, Address: c.server(), told: told, cause: scrubbed{err, c.secrets()}}
	}
	e := &Error{Kind: Network, Address: c.server(), cause: scrubbed{err, c.secrets()}}
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unverified) {
		e.Kind, e.signer = Certificate, signer(unverified.UnverifiedCertificates)
	} else if errors.As(err, &unknown) {
		e.Kind, e.signer = Certificate, signer([]*x509.Certificate{unknown.Cert})
	}
	return e
}

// signer is who has signed the last certificate of those that a server showed.
func signer(shown []*x509.Certificate) string {
	if len(shown) == 0 || shown[len(shown)-1] == nil {
		return ""
	}
	by := shown[len(shown)-1].Issuer
	return cmp.Or(by.CommonName, strings.Join(by.Organization, " "))
}

func errorCode(err error) string {
	text := err.Error()
	var withErrorCode interface{ ErrorCode() string }
	var withCode interface{ Code() string }
	switch {
	case errors.As(err, &withErrorCode) && withErrorCode.ErrorCode() != "":
		text = withErrorCode.ErrorCode()
	case errors.As(err, &withCode) && withCode.Code() != "":
		text = withCode.Code()
	}
	if match := codePattern.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

// explainEnd sorts why the SDK's listener ended: ngrok closed the address, for a reason with a code or without.
func (c NgrokConfig) explainEnd(err error) *Error {
	e := c.explain(err)
	if e.Kind != Network && e.Kind != Refused {
		return e
	}
	return &Error{Kind: Stopped, Code: e.Code, Address: c.host()}
}

// scrubbed is an error whose text has lost its secrets; what it wraps stays out of reach.
type scrubbed struct {
	err     error
	secrets []string
}

func (s scrubbed) Error() string { return scrub(s.err.Error(), s.secrets) }

// Is lets errors.Is see through, which shows nothing.
func (s scrubbed) Is(target error) bool { return errors.Is(s.err, target) }

func scrub(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}
