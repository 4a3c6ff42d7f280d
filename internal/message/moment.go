package message

// The lines of a package's history. They name no package, which stands above them, and end without a full stop.

func MomentSent() Message            { return of("moment.sent") }
func MomentSentTo(n int) Message     { return of("moment.sent-to", Count("N", n)) }
func MomentSomeone() Message         { return of("moment.someone-signed") }
func MomentDocument() Message        { return of("moment.document") }
func MomentExecuted() Message        { return of("moment.executed") }
func MomentExpired() Message         { return of("moment.expired") }
func MomentWithdrawn() Message       { return of("moment.withdrawn") }
func MomentSomeoneDeclined() Message { return of("moment.someone-declined") }

func MomentSigned(who string) Message { return of("moment.signed", Text("Who", who)) }

func MomentSignedDocument(who, document string) Message {
	return of("moment.signed-document", Text("Who", who), Text("Document", document))
}

func MomentSomeoneSignedDocument(document string) Message {
	return of("moment.someone-signed-document", Text("Document", document))
}

func MomentDocumentCalled(document string) Message {
	return of("moment.document-called", Text("Document", document))
}

func MomentDeclined(who string) Message { return of("moment.declined", Text("Who", who)) }
func MomentSaved(file string) Message   { return of("moment.saved", Text("File", file)) }

// MomentClosed has the service's own word for it.
func MomentClosed(state string) Message { return of("moment.closed", Text("State", state)) }

// MomentOther is of a kind that this version does not know.
func MomentOther(what string) Message { return of("moment.other", Text("What", what)) }

// ByTime is a time by which something had happened, of which nobody knows when it did.
func ByTime(when string) Message { return of("moment.by", Text("When", when)) }
