package tunnel

import (
	"fmt"
	"strings"
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
	// Address is what the sentence names: the public domain, the server's or proxy's host:port, or the local address.
	Address string

	permanent bool
	viaProxy  bool  // Network, Setting: about the proxy on the way
	busy      bool  // Listen: another program has the port
	cause     error // from this computer only; nil for an answer of ngrok
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

// Sentence says for people what happened and what to do, in plain words.
func (e *Error) Sentence() string {
	switch e.Kind {
	case Token:
		return "ngrok does not accept the authtoken. Copy it from your ngrok account again."
	case DomainInUse:
		return fmt.Sprintf("Another computer is using %s. Close Countersign there, or use another address.",
			e.domain())
	case DomainNotYours:
		return fmt.Sprintf("Your ngrok account is not allowed to use %s. Enter one of its own addresses, or none.",
			e.domain())
	case Quota:
		return "You have reached the limit of your ngrok plan. Wait until its limit is renewed, or change the plan." +
			e.code()
	case Certificate:
		if e.permanent {
			return "The certificate for this computer's own address is missing. Start Countersign again to make a new one."
		}
		return fmt.Sprintf("The connection to %s is not secure. Your network inspects encrypted connections, or the "+
			"certificate file is wrong. Ask your administrator to exclude it from inspection, or choose the "+
			"network's certificate file.", e.server())
	case Listen:
		if e.busy {
			return fmt.Sprintf("Another program on this computer is using %s. Close it, or use another port.",
				e.Address)
		}
		return fmt.Sprintf("This computer cannot listen on %s. Enter another address or port.", e.Address)
	case Stopped:
		return fmt.Sprintf("ngrok closed %s. Look up the code in ngrok's list of errors.%s", e.domain(), e.code())
	case Refused:
		return fmt.Sprintf("ngrok did not accept the connection. Look up the code in ngrok's list of errors.%s", e.code())
	case Setting:
		if e.viaProxy {
			return "This computer's setting for the network's proxy (HTTPS_PROXY) cannot be understood. Correct it there."
		}
		return fmt.Sprintf("The address %q is not complete. Correct it, for example https://office.example.com.",
			e.Address)
	}
	if e.viaProxy {
		return fmt.Sprintf("The network's proxy %s does not let ngrok through. Ask your administrator.",
			e.Address)
	}
	return fmt.Sprintf("There is no connection to %s. Check the internet connection.", e.server())
}

func (e *Error) domain() string {
	if e.Address == "" {
		return "the address of your ngrok account"
	}
	return "the address " + e.Address
}

func (e *Error) server() string {
	if e.Address == "" {
		return "ngrok"
	}
	return "ngrok (" + e.Address + ")"
}

func (e *Error) code() string {
	if e.Code == "" {
		return ""
	}
	return " (" + e.Code + ")"
}
