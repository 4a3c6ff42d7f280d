package proxy

import (
	"errors"
	"fmt"

	"github.com/alexbrainman/sspi"
	"golang.org/x/sys/windows"
)

// systemSignIn signs in as whoever is signed in to Windows, through SSPI. Scheme is the name of its package: Negotiate, which
// is Kerberos where there is a domain, or NTLM. The library's own packages of these names are not used: one ends the program
// where Windows has no NTLM, the other takes a sign-in that is complete in one step for an error.
func systemSignIn(scheme, host string) (Exchange, error) {
	about, err := sspi.QueryPackageInfo(scheme)
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", scheme, err)
	}
	target, err := windows.UTF16PtrFromString("HTTP/" + host)
	if err != nil {
		return nil, err
	}
	credentials, err := sspi.AcquireCredentials("", scheme, sspi.SECPKG_CRED_OUTBOUND, nil)
	if err != nil {
		return nil, fmt.Errorf("sign in by %s: %w", scheme, err)
	}
	return &exchange{credentials, sspi.NewClientContext(credentials, sspi.ISC_REQ_CONNECTION), target, about.MaxToken}, nil
}

type exchange struct {
	credentials *sspi.Credentials
	context     *sspi.Context
	target      *uint16
	longest     uint32 // of a token, in bytes
}

// Next is Exchange's.
func (x *exchange) Next(challenge []byte) ([]byte, error) {
	token := make([]byte, x.longest)
	var out, in [1]sspi.SecBuffer
	out[0].Set(sspi.SECBUFFER_TOKEN, token)
	var heard *sspi.SecBufferDesc
	if len(challenge) > 0 {
		in[0].Set(sspi.SECBUFFER_TOKEN, challenge)
		heard = sspi.NewSecBufferDesc(in[:])
	}
	said := sspi.NewSecBufferDesc(out[:])
	switch result := x.context.Update(x.target, said, heard); result {
	case sspi.SEC_E_OK, sspi.SEC_I_CONTINUE_NEEDED:
	case sspi.SEC_I_COMPLETE_NEEDED, sspi.SEC_I_COMPLETE_AND_CONTINUE:
		if done := sspi.CompleteAuthToken(x.context.Handle, said); done != sspi.SEC_E_OK {
			return nil, done
		}
	default:
		return nil, result
	}
	if out[0].BufferSize > x.longest {
		return nil, errors.New("the token is longer than it may be")
	}
	return token[:out[0].BufferSize], nil
}

// Close is Exchange's.
func (x *exchange) Close() {
	if x.context.Handle != nil {
		x.context.Release()
	}
	x.credentials.Release()
}
