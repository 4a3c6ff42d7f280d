//go:build !windows

package proxy

// systemSignIn is nil: a name and a password in HTTPS_PROXY are the way here.
var systemSignIn func(scheme, host string) (Exchange, error)
