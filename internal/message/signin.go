package message

// Signing in and out, and the page that the browser shows.

func SignedIn() Message                 { return of("signin.signed-in") }
func SignedInAs(who string) Message     { return of("signin.signed-in-as", Text("Who", who)) }
func SignedOut() Message                { return of("signin.signed-out") }
func SignInExpired() Message            { return of("signin.sign-in-expired") }
func SignInLapsed() Message             { return of("signin.sign-in-lapsed") }
func SignInLapsedForScope() Message     { return of("signin.sign-in-lapsed-for-scope") }
func NotSignedIn() Message              { return of("signin.not-signed-in") }
func NobodySignedIn() Message           { return of("signin.nobody-signed-in") }
func SignInShort() Message              { return of("signin.sign-in-short") }
func MayNotSend() Message               { return of("signin.may-not-send") }
func NotRenewed() Message               { return of("signin.not-renewed") }
func SignInDenied() Message             { return of("signin.sign-in-denied") }
func SignInUnverified() Message         { return of("signin.sign-in-unverified") }
func SignInStale() Message              { return of("signin.sign-in-stale") }
func SignInNoKeys() Message             { return of("signin.sign-in-no-keys") }
func SignInOdd() Message                { return of("signin.sign-in-odd") }
func SignInNotKept() Message            { return of("signin.sign-in-not-kept") }
func WrongAddress() Message             { return of("signin.wrong-address") }
func IncompleteAddress() Message        { return of("signin.incomplete-address") }
func NoWayBack() Message                { return of("signin.no-way-back") }
func NoCode() Message                   { return of("signin.no-code") }
func TooLate() Message                  { return of("signin.too-late") }
func OtherAttempt() Message             { return of("signin.other-attempt") }
func OtherService() Message             { return of("signin.other-service") }
func AlreadyFinished() Message          { return of("signin.already-finished") }
func OtherSignIn() Message              { return of("signin.other-sign-in") }
func SettingsChanged() Message          { return of("signin.settings-changed") }
func NotExpected() Message              { return of("signin.not-expected") }
func PasteWholeAddress() Message        { return of("signin.paste-whole-address") }
func OtherOrganization() Message        { return of("signin.other-organization") }
func SignInFirst() Message              { return of("signin.sign-in-first") }
func ReturnClosed() Message             { return of("signin.return-closed") }
func CheckConnection() Message          { return of("signin.check-connection") }
func SignedOutHere() Message            { return of("signin.signed-out-here") }
func EndpointNotDeleted() Message       { return of("signin.endpoint-not-deleted") }
func EndpointNotDeletedForKey() Message { return of("signin.endpoint-not-deleted-for-key") }
func EventsElsewhereOff() Message       { return of("signin.events-elsewhere-off") }
func NotRevoked() Message               { return of("signin.not-revoked") }
func NotRevokedForKey() Message         { return of("signin.not-revoked-for-key") }
func YouAreSignedIn() Message           { return of("signin.you-are-signed-in") }
func Connected() Message                { return of("signin.connected") }
func WorksFor(account string) Message   { return of("signin.works-for", Text("Account", account)) }
func SignInFailed() Message             { return of("signin.sign-in-failed") }
func ClosePage() Message                { return of("signin.close-page") }
func BackToCountersign() Message        { return of("signin.back-to-countersign") }
