package message

// The network that the office has: its proxy, and what stands in the way.

func ProxyUnreadable() Message         { return of("network.proxy-unreadable") }
func ProxySilent(proxy string) Message { return of("network.proxy-silent", Text("Proxy", proxy)) }
func ProxyWantsSignIn(proxy string) Message {
	return of("network.proxy-wants-sign-in", Text("Proxy", proxy))
}

func ProxyBlocks(proxy, server string) Message {
	return of("network.proxy-blocks", Text("Proxy", proxy), Text("Server", server))
}

func ProxyCannotReach(proxy, server string) Message {
	return of("network.proxy-cannot-reach", Text("Proxy", proxy), Text("Server", server))
}

func NetworkWantsBrowser() Message { return of("network.wants-browser") }

// NgrokInspected is a connection to ngrok that somebody on the way opens; ConnectionInspected also says who has signed the
// certificate that was shown.
func NgrokInspected() Message { return of("network.ngrok-inspected") }

func ConnectionInspected(server, signer string) Message {
	return of("network.connection-inspected", Text("Server", server), Name("Signer", signer))
}

// ServiceInspected is the same on the way to the signing service.
func ServiceInspected(server, signer string) Message {
	return of("network.service-inspected", Text("Server", server), Name("Signer", signer))
}
