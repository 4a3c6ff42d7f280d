package tunnel

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"regexp"
	"strings"
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
	if proxied, ok := errors.AsType[*proxyError](err); ok {
		return &Error{Kind: Network, Address: proxied.proxy, viaProxy: true, cause: proxied}
	}
	kind := Network
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unverified) || errors.As(err, &unknown) {
		kind = Certificate
	}
	return &Error{Kind: kind, Address: c.server(), cause: scrubbed{err, c.secrets()}}
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

// secretsOf are a URL's user name and password as they are and as they are written in the URL.
func secretsOf(u *url.URL) []string {
	if u == nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	if password == "" {
		return nil
	}
	return []string{u.User.String(), url.QueryEscape(password), url.PathEscape(password), password}
}
