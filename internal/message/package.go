package message

// What happens to packages, as the activity and notifications tell it.

func PackageCreated(called string) Message { return of("package.created", Package("Package", called)) }
func PackageSent(called string) Message    { return of("package.sent", Package("Package", called)) }

func SentTo(called string, n int) Message {
	return of("package.sent-to", Package("Package", called), Count("N", n))
}

func Signed(who, called string) Message {
	return of("package.signed", Text("Who", who), Package("Package", called))
}

func SomeoneSigned(called string) Message {
	return of("package.someone-signed", Package("Package", called))
}

func SignedDocument(who, document, called string) Message {
	return of("package.signed-document", Text("Who", who), Name("Document", document), Package("Package", called))
}

func SomeoneSignedDocument(document, called string) Message {
	return of("package.someone-signed-document", Name("Document", document), Package("Package", called))
}

func EveryoneSigned(called string) Message {
	return of("package.everyone-signed", Package("Package", called))
}

func EveryoneSignedDocument(document, called string) Message {
	return of("package.everyone-signed-document", Name("Document", document), Package("Package", called))
}

func EveryoneSignedADocument(called string) Message {
	return of("package.everyone-signed-a-document", Package("Package", called))
}

func EveryoneHasSigned() Message { return of("package.everyone-has-signed") }

func Declined(who, called string) Message {
	return of("package.declined", Text("Who", who), Package("Package", called))
}

func DeclineReason(reason string) Message {
	return of("package.decline-reason", Name("Reason", reason))
}

func Expired(called string) Message  { return of("package.expired", Package("Package", called)) }
func DueToday(called string) Message { return of("package.due-today", Package("Package", called)) }

func DueTomorrow(called string) Message {
	return of("package.due-tomorrow", Package("Package", called))
}

func DueIn(called string, days int) Message {
	return of("package.due-in", Package("Package", called), Count("N", days))
}

func NotSignedBy(people []string) Message { return of("package.not-signed-by", Names("Who", people)) }

// The letter with which somebody sends a signer the link.

func LetterSubject(called string) Message { return of("letter.subject", Package("Package", called)) }
func LetterGreeting(who string) Message   { return of("letter.greeting", Text("Who", who)) }
func LetterAsks(called string) Message    { return of("letter.asks", Package("Package", called)) }
func LetterLater(called string) Message   { return of("letter.later", Package("Package", called)) }
func LetterPersonal() Message             { return of("letter.personal") }

func SignersDone(done, total int) Message {
	return of("package.signers-done", Number("Done", done), Number("Total", total))
}

func NextSigner(who string) Message { return of("package.next-signer", Text("Who", who)) }

func AboutDocument(document string) Message {
	return of("package.about-document", Name("Document", document))
}

func HasSigned(who string) Message { return of("package.has-signed", Text("Who", who)) }

func LastSigner(who string) Message { return of("package.last-signer", Text("Who", who)) }

func SignedDocuments(who string, n int, called string) Message {
	return of("package.signed-documents", Text("Who", who), Count("N", n), Package("Package", called))
}

func SomeoneSignedDocuments(n int, called string) Message {
	return of("package.someone-signed-documents", Count("N", n), Package("Package", called))
}

func Reported(what, called string) Message {
	return of("package.reported", Name("What", what), Package("Package", called))
}

func FileSaved(file, folder string) Message {
	return of("package.file-saved", Name("File", file), Text("Folder", folder))
}

func FilesSaved(n int, folder string) Message {
	return of("package.files-saved", Count("N", n), Text("Folder", folder))
}

func FilesSavedAs(folder string, files []string) Message {
	return of("package.files-saved-as", Text("Folder", folder), Names("Files", files))
}

func NothingDownloaded() Message    { return of("package.nothing-downloaded") }
func MoreNotReady(n int) Message    { return of("package.more-not-ready", Count("N", n)) }
func AndMore(n int) Message         { return of("package.and-more", Number("N", n)) }
func PackagesChanged(n int) Message { return of("package.packages-changed", Count("N", n)) }

func PackagesChangedMeanwhile(n int) Message {
	return of("package.packages-changed-meanwhile", Count("N", n))
}

func AtAnotherService() Message { return of("package.at-another-service") }

// What can be pressed on a notification.

func PressToShow() Message    { return of("press.show") }
func PressToOpen() Message    { return of("press.open") }
func PressForFolder() Message { return of("press.folder") }
