package message

// What the signing service says of a call or of a file, or does not.

func ServiceSilent() Message      { return of("service.silent") }
func ServiceNotFound() Message    { return of("service.not-found") }
func ServiceDistrusted() Message  { return of("service.distrusted") }
func ServiceUnreachable() Message { return of("service.unreachable") }
func ServiceAiling() Message      { return of("service.ailing") }
func ServiceBusy() Message        { return of("service.busy") }
func ServiceOdd() Message         { return of("service.odd") }
func ServiceRefused() Message     { return of("service.refused") }

func ServiceRefusedBecause(why string) Message {
	return of("service.refused-because", Said("Why", why))
}

func CopiesTwice() Message { return of("service.copies-twice") }
func CopiesSign() Message  { return of("service.copies-sign") }

func NoLinks() Message         { return of("service.no-links") }
func MayNotHaveLinks() Message { return of("service.may-not-have-links") }
func SignerNotListed() Message { return of("service.signer-not-listed") }

func NothingToSign(who string) Message { return of("service.nothing-to-sign", Text("Who", who)) }

func NoSuchSigner(who string) Message { return of("service.no-such-signer", Name("Who", who)) }

func NotAllowed() Message { return of("service.not-allowed") }

func NotAllowedBecause(why string) Message {
	return of("service.not-allowed-because", Said("Why", why))
}

func ServiceKnowsNot() Message            { return of("service.knows-not") }
func NotReady() Message                   { return of("service.not-ready") }
func NotConfirmed() Message               { return of("service.not-confirmed") }
func Interrupted() Message                { return of("service.interrupted") }
func ClientRefused() Message              { return of("service.client-refused") }
func DataNotJSON() Message                { return of("service.data-not-json") }
func PackageIDUnusable() Message          { return of("service.package-id-unusable") }
func DocumentIDUnusable() Message         { return of("service.document-id-unusable") }
func SignerIDUnusable() Message           { return of("service.signer-id-unusable") }
func NoSuchKindOfFile() Message           { return of("service.no-such-kind-of-file") }
func NothingToRegister() Message          { return of("service.nothing-to-register") }
func NothingToRemove() Message            { return of("service.nothing-to-remove") }
func FileProtected(file string) Message   { return of("service.file-protected", Name("File", file)) }
func FileUnsupported(file string) Message { return of("service.file-unsupported", Name("File", file)) }
func FileTooLarge(file string) Message    { return of("service.file-too-large", Name("File", file)) }

func FileChangedMeanwhile(file string) Message {
	return of("service.file-changed-meanwhile", Name("File", file))
}

func FileUnreadable(file string) Message { return of("service.file-unreadable", Name("File", file)) }
func FileEmpty(file string) Message      { return of("service.file-empty", Name("File", file)) }

// FileOfCountersign is a backup, or a file that an administrator or a move made.
func FileOfCountersign(file string) Message {
	return of("service.file-of-countersign", Name("File", file))
}

func FileRejectedBecause(file, why string) Message {
	return of("service.file-rejected-because", Name("File", file), Said("Why", why))
}

func FileRejected(file string) Message { return of("service.file-rejected", Name("File", file)) }
