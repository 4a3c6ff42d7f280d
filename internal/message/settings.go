package message

// What is wrong with settings, and with the file of an office.

func NotSetUp() Message               { return of("settings.not-set-up") }
func SignInAddressMissing() Message   { return of("settings.sign-in-address-missing") }
func SignInAddressInsecure() Message  { return of("settings.sign-in-address-insecure") }
func SignInAddressForm() Message      { return of("settings.sign-in-address-form") }
func ServiceAddressMissing() Message  { return of("settings.service-address-missing") }
func ServiceAddressInsecure() Message { return of("settings.service-address-insecure") }
func ServiceAddressForm() Message     { return of("settings.service-address-form") }
func ClientIDMissing() Message        { return of("settings.client-id-missing") }
func ClientIDCharacters() Message     { return of("settings.client-id-characters") }
func ClientSecretCharacters() Message { return of("settings.client-secret-characters") }
func ScopeForm() Message              { return of("settings.scope-form") }
func HeaderForm() Message             { return of("settings.header-form") }
func RedirectNeedsTunnel() Message    { return of("settings.redirect-needs-tunnel") }
func RedirectChoice() Message         { return of("settings.redirect-choice") }
func ReturnAddressMissing() Message   { return of("settings.return-address-missing") }
func ReturnAddressInsecure() Message  { return of("settings.return-address-insecure") }
func ReturnAddressForm() Message      { return of("settings.return-address-form") }
func TunnelChoice() Message           { return of("settings.tunnel-choice") }
func NgrokDomainForm() Message        { return of("settings.ngrok-domain-form") }
func AuthtokenCharacters() Message    { return of("settings.authtoken-characters") }
func NgrokServerForm() Message        { return of("settings.ngrok-server-form") }
func NgrokCertificatePath() Message   { return of("settings.ngrok-certificate-path") }
func PublicAddressMissing() Message   { return of("settings.public-address-missing") }
func PublicAddressInsecure() Message  { return of("settings.public-address-insecure") }
func PublicAddressForm() Message      { return of("settings.public-address-form") }
func ListenForm() Message             { return of("settings.listen-form") }
func FolderNotChosen() Message        { return of("settings.folder-not-chosen") }
func FolderPath() Message             { return of("settings.folder-path") }
func FolderNotMade() Message          { return of("settings.folder-not-made") }
func FolderNotWritable() Message      { return of("settings.folder-not-writable") }
func StandingForm() Message           { return of("settings.standing-form") }
func StandingTwice() Message          { return of("settings.standing-twice") }
func NotifyChoice() Message           { return of("settings.notify-choice") }
func DueDaysRange() Message           { return of("settings.due-days-range") }
func QuietHours() Message             { return of("settings.quiet-hours") }
func KeepEventsRange() Message        { return of("settings.keep-events-range") }
func ThemeChoice() Message            { return of("settings.theme-choice") }
func ContrastChoice() Message         { return of("settings.contrast-choice") }
func TextSizeChoice() Message         { return of("settings.text-size-choice") }
func MotionChoice() Message           { return of("settings.motion-choice") }
func LanguageChoice() Message         { return of("settings.language-choice") }

// The administrator of the computer has decided.

func FixedSetting(setting string) Message {
	return of("settings.fixed", Text("Setting", setting))
}

// PolicyWrong is the headline of what follows it.
func PolicyWrong(where string) Message {
	return of("settings.policy-wrong", Text("Where", where))
}

func PolicyNotRead(where string) Message { return of("settings.policy-not-read", Text("Where", where)) }
func PolicyNoFile(where string) Message  { return of("settings.policy-no-file", Text("Where", where)) }
func PolicyOpen(where string) Message    { return of("settings.policy-open", Text("Where", where)) }
func PolicyTooLong(where string) Message { return of("settings.policy-too-long", Text("Where", where)) }
func PolicyNoJSON(where string) Message  { return of("settings.policy-no-json", Text("Where", where)) }
func PolicyNoPlist(where string) Message { return of("settings.policy-no-plist", Text("Where", where)) }
func PolicyValueNotRead(name, where string) Message {
	return of("settings.policy-value-not-read", Text("Name", name), Text("Where", where))
}

// PolicyUnusable names the settings whose values are not valid.
func PolicyUnusable(settings string) Message {
	return of("settings.policy-unusable", Text("Settings", settings))
}

// PolicyNotInUse is followed by what is wrong.
func PolicyNotInUse(where string) Message {
	return of("settings.policy-not-in-use", Text("Where", where))
}

func OfficeFileThere(file string) Message {
	return of("settings.office-file-there", Name("File", file))
}

func OfficeFileNotWritten(file string) Message {
	return of("settings.office-file-not-written", Name("File", file))
}

func OfficeFileNotRead(file string) Message {
	return of("settings.office-file-not-read", Name("File", file))
}

func OfficeFileForeign(file string) Message {
	return of("settings.office-file-foreign", Name("File", file))
}

func OfficeFileNewer(file string) Message {
	return of("settings.office-file-newer", Name("File", file))
}

func OfficeFileUnusable(file string) Message {
	return of("settings.office-file-unusable", Name("File", file))
}
