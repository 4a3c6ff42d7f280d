package proxy

import (
	"errors"

	"github.com/alexbrainman/sspi"
	"github.com/alexbrainman/sspi/negotiate"
	"github.com/alexbrainman/sspi/ntlm"
)

// systemSignIn signs in as whoever is signed in to Windows, through SSPI.
func systemSignIn(scheme, host string) (Exchange, error) {
	switch scheme {
	case "Negotiate":
		credentials, err := negotiate.AcquireCurrentUserCredentials()
		if err != nil {
			return nil, err
		}
		return &negotiated{credentials: credentials, target: "HTTP/" + host}, nil
	case "NTLM":
		credentials, err := ntlm.AcquireCurrentUserCredentials()
		if err != nil {
			return nil, err
		}
		return &ntlmed{credentials: credentials}, nil
	}
	return nil, errors.New("not a scheme of the system")
}

type negotiated struct {
	credentials *sspi.Credentials
	target      string
	context     *negotiate.ClientContext
}

func (n *negotiated) Next(challenge []byte) (token []byte, err error) {
	if n.context == nil {
		n.context, token, err = negotiate.NewClientContext(n.credentials, n.target)
		return token, err
	}
	_, token, err = n.context.Update(challenge)
	return token, err
}

func (n *negotiated) Close() {
	if n.context != nil {
		n.context.Release()
	}
	n.credentials.Release()
}

type ntlmed struct {
	credentials *sspi.Credentials
	context     *ntlm.ClientContext
}

func (n *ntlmed) Next(challenge []byte) (token []byte, err error) {
	if n.context == nil {
		n.context, token, err = ntlm.NewClientContext(n.credentials)
		return token, err
	}
	return n.context.Update(challenge)
}

func (n *ntlmed) Close() {
	if n.context != nil {
		n.context.Release()
	}
	n.credentials.Release()
}
