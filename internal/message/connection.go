package message

// The steps of the way to the service and to ngrok, and what was found at each.

func NgrokNameUnknown(server string) Message {
	return of("network.ngrok-name-unknown", Text("Server", server))
}
func NgrokBlocked(server string) Message  { return of("network.ngrok-blocked", Text("Server", server)) }
func NgrokCutOff(server string) Message   { return of("network.ngrok-cut-off", Text("Server", server)) }
func CertificateFileUnusable() Message    { return of("network.certificate-file-unusable") }
func StepProxy() Message                  { return of("network.step-proxy") }
func StepProxyNgrok() Message             { return of("network.step-proxy-ngrok") }
func StepSignInAddress() Message          { return of("network.step-sign-in-address") }
func StepService() Message                { return of("network.step-service") }
func StepSignIn() Message                 { return of("network.step-sign-in") }
func StepNgrokName() Message              { return of("network.step-ngrok-name") }
func StepNgrokConnect() Message           { return of("network.step-ngrok-connect") }
func StepNgrokTLS() Message               { return of("network.step-ngrok-tls") }
func StepNgrokTunnel() Message            { return of("network.step-ngrok-tunnel") }
func StepAddress() Message                { return of("network.step-address") }
func StepEndpoint() Message               { return of("network.step-endpoint") }
func StepEvent() Message                  { return of("network.step-event") }
func NotTried() Message                   { return of("network.not-tried") }
func BeingTried() Message                 { return of("network.being-tried") }
func NotReached() Message                 { return of("network.not-reached") }
func SameReason() Message                 { return of("network.same-reason") }
func WayStraight() Message                { return of("network.way-straight") }
func WayHere() Message                    { return of("network.way-here") }
func WayExceptedEnvironment() Message     { return of("network.way-excepted-environment") }
func WayExcepted() Message                { return of("network.way-excepted") }
func WayEnvironment(proxy string) Message { return of("network.way-environment", Text("Proxy", proxy)) }
func WaySystem(proxy string) Message      { return of("network.way-system", Text("Proxy", proxy)) }
func WayScript(proxy string) Message      { return of("network.way-script", Text("Proxy", proxy)) }
func WayDetected(proxy string) Message    { return of("network.way-detected", Text("Proxy", proxy)) }
func WayUnread() Message                  { return of("network.way-unread") }
func Answers() Message                    { return of("network.answers") }
func NameFound() Message                  { return of("network.name-found") }
func NameByProxy() Message                { return of("network.name-by-proxy") }
func ConnectionMade() Message             { return of("network.connection-made") }
func Secure() Message                     { return of("network.secure") }
func AddressOpen(address string) Message  { return of("network.address-open", Text("Address", address)) }
func AddressNone() Message                { return of("network.address-none") }
func Registered(address string) Message   { return of("network.registered", Text("Address", address)) }
func NotRegistered() Message              { return of("network.not-registered") }
func EventArrived() Message               { return of("network.event-arrived") }
func NoEvent() Message                    { return of("network.no-event") }
func SignedInNow() Message                { return of("network.signed-in") }
func SignedInNowAs(who string) Message    { return of("network.signed-in-as", Text("Who", who)) }
