package message

// The public address, and the endpoint that is registered with it.

func TokenRefused() Message     { return of("address.token-refused") }
func TokenMissing() Message     { return of("address.token-missing") }
func TokenMissingLate() Message { return of("address.token-missing-late") }

func DomainInUse(address string) Message {
	return of("address.domain-in-use", Text("Address", address))
}

func OwnDomainInUse() Message { return of("address.own-domain-in-use") }

func DomainNotYours(address string) Message {
	return of("address.domain-not-yours", Text("Address", address))
}

func OwnDomainNotYours() Message    { return of("address.own-domain-not-yours") }
func PlanExhausted() Message        { return of("address.plan-exhausted") }
func NgrokCode(code string) Message { return of("address.ngrok-code", Text("Code", code)) }
func CertificateMissing() Message   { return of("address.certificate-missing") }

func PortInUse(address string) Message { return of("address.port-in-use", Text("Address", address)) }

func CannotListen(address string) Message {
	return of("address.cannot-listen", Text("Address", address))
}

func NgrokClosed(address string) Message { return of("address.ngrok-closed", Text("Address", address)) }
func NgrokClosedOwn() Message            { return of("address.ngrok-closed-own") }
func NgrokRefused() Message              { return of("address.ngrok-refused") }

func AddressIncomplete(address string) Message {
	return of("address.incomplete", Name("Address", address))
}

func NoConnection() Message { return of("address.no-connection") }

func NoConnectionTo(server string) Message {
	return of("address.no-connection-to", Text("Server", server))
}

func TryingAgain() Message              { return of("address.trying-again") }
func NotOpened() Message                { return of("address.not-opened") }
func NoAddress() Message                { return of("address.no-address") }
func MayNotReceive() Message            { return of("address.may-not-receive") }
func EndpointNeeds() Message            { return of("address.endpoint-needs") }
func EndpointSet() Message              { return of("address.endpoint-set") }
func EndpointLost() Message             { return of("address.endpoint-lost") }
func SignInAddressSilent() Message      { return of("address.sign-in-address-silent") }
func SignInAddressDistrusted() Message  { return of("address.sign-in-address-distrusted") }
func SignInAddressAiling() Message      { return of("address.sign-in-address-ailing") }
func SignInAddressOther() Message       { return of("address.sign-in-address-other") }
func ServiceAddressSilent() Message     { return of("address.service-address-silent") }
func ServiceAddressDistrusted() Message { return of("address.service-address-distrusted") }
func ServiceAddressAiling() Message     { return of("address.service-address-ailing") }
func ServiceAddressOther() Message      { return of("address.service-address-other") }
func PublicAddressSilent() Message      { return of("address.public-address-silent") }
func PublicAddressOther() Message       { return of("address.public-address-other") }
func PublicAddressLate() Message        { return of("address.public-address-late") }
