package message

// Drafts, their files, and sending them.

func NoDocument() Message                { return of("draft.no-document") }
func NoSigner() Message                  { return of("draft.no-signer") }
func EmailIncomplete(who string) Message { return of("draft.email-incomplete", Name("Who", who)) }
func SignerTwice(who string) Message     { return of("draft.signer-twice", Text("Who", who)) }
func CopyTwice(who string) Message       { return of("draft.copy-twice", Text("Who", who)) }
func CopySigns(who string) Message       { return of("draft.copy-signs", Text("Who", who)) }
func CopyAddress(who string) Message     { return of("draft.copy-address", Text("Who", who)) }
func ReferenceNotJSON() Message          { return of("draft.reference-not-json") }
func DueDatePassed() Message             { return of("draft.due-passed") }
func FileNotFound(file string) Message   { return of("draft.file-not-found", Name("File", file)) }
func FileNotRead(file string) Message    { return of("draft.file-not-read", Name("File", file)) }

func FileMayNotBeRead(file string) Message {
	return of("draft.file-may-not-be-read", Name("File", file))
}

func FileIsFolder(file string) Message { return of("draft.file-is-folder", Name("File", file)) }
func FileNotPDF(file string) Message   { return of("draft.file-not-pdf", Name("File", file)) }

func FileLarge(file string, size int64) Message {
	return of("draft.file-large", Name("File", file), Bytes("Size", size))
}

func FileMaybeDamaged(file string) Message { return of("draft.file-maybe-damaged", Name("File", file)) }
func FileGone(file string) Message         { return of("draft.file-gone", Name("File", file)) }
func FileChanged(file string) Message      { return of("draft.file-changed", Name("File", file)) }
func FileBusy(file string) Message         { return of("draft.file-busy", Name("File", file)) }
func NoRoomForCopy(file string) Message    { return of("draft.no-room-for-copy", Name("File", file)) }
func NotCopied(file string) Message        { return of("draft.not-copied", Name("File", file)) }

func DraftTooLarge(name string, size, most int64) Message {
	return of("draft.too-large", Package("Name", name), Bytes("Size", size), Bytes("Most", most))
}

func NotSentYet(called string) Message { return of("draft.not-sent-yet", Package("Package", called)) }
func WillBeSent() Message              { return of("draft.will-be-sent") }
func NotSent(called string) Message    { return of("draft.not-sent", Package("Package", called)) }

func OutcomeUnknown(called string) Message {
	return of("draft.outcome-unknown", Package("Package", called))
}

func OutcomesUnknown(n int) Message      { return of("draft.outcomes-unknown", Count("N", n)) }
func MayNotSendDocuments() Message       { return of("draft.may-not-send-documents") }
func ForAnotherService() Message         { return of("draft.for-another-service") }
func TemplateGone(called string) Message { return of("draft.template-gone", Name("Template", called)) }
func TemplateChanged(called string) Message {
	return of("draft.template-changed", Name("Template", called))
}
func TemplateFieldsEmpty(fields []string) Message {
	return of("draft.template-fields-empty", Names("Fields", fields))
}
func TemplatesNotOffered() Message { return of("draft.templates-not-offered") }
func WaitingStopped() Message      { return of("draft.waiting-stopped") }

// ForAnotherAccount is of a draft that another account was to send than the one that is signed in.
func ForAnotherAccount() Message { return of("draft.other-account") }

// EarlierVersionSent is of a draft that is not sent, for it was to take the place of one that is.
func EarlierVersionSent(name string) Message {
	return of("draft.earlier-version-sent", Package("Name", name))
}

// OutcomeUnknownElsewhere is of a draft for another service than the one in use, which alone could tell.
func OutcomeUnknownElsewhere(called string) Message {
	return of("draft.outcome-unknown-elsewhere", Package("Package", called))
}
