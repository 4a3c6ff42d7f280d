package proxy

import (
	"encoding/base64"
	"net/http"
)

// Exchange is a sign-in to a proxy as whoever is signed in to this computer (RFC 4559). It belongs to one goroutine.
type Exchange interface {
	// Next is what to send: first without a challenge, then for each that the proxy gives.
	Next(challenge []byte) (token []byte, err error)
	Close()
}

// login is an exchange over HTTP.
type login struct {
	scheme   string
	exchange Exchange
	begun    bool
}

// begin chooses the best scheme that a proxy offers and the system has; nil for none.
func begin(signIn func(scheme, host string) (Exchange, error), offered http.Header, host string) *login {
	for _, scheme := range []string{"Negotiate", "NTLM"} {
		if _, ok := challenge(offered, scheme); !ok {
			continue
		}
		if exchange, err := signIn(scheme, host); err == nil {
			return &login{scheme: scheme, exchange: exchange}
		}
	}
	return nil
}

// next is the header that answers the proxy; empty when there is no answer, because it has said no.
func (l *login) next(asked http.Header) string {
	if l == nil {
		return ""
	}
	data, ok := challenge(asked, l.scheme)
	if !ok || l.begun && data == "" { // it begins anew: what was sent was not accepted
		return ""
	}
	given, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !l.begun {
		given = nil
	}
	l.begun = true
	token, err := l.exchange.Next(given)
	if err != nil || len(token) == 0 {
		return ""
	}
	return l.scheme + " " + base64.StdEncoding.EncodeToString(token)
}

func (l *login) end() {
	if l != nil {
		l.exchange.Close()
	}
}
