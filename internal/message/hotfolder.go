package message

// Folders that send.

func SendFolderMissing() Message       { return of("hot-folder.not-chosen") }
func SendFolderPath() Message          { return of("hot-folder.path") }
func SendFolderDue(most int) Message   { return of("hot-folder.due", Number("Most", most)) }
func FolderHoldsData() Message         { return of("hot-folder.holds-data") }
func SendFolderSavesTo() Message       { return of("hot-folder.saves-to") }
func SendFolderTooWide() Message       { return of("hot-folder.too-wide") }
func SendFolderNotMade() Message       { return of("hot-folder.not-made") }
func SendFolderNotEmpty(n int) Message { return of("hot-folder.not-empty", Count("N", n)) }

func SendFolderOverlaps(folder string) Message {
	return of("hot-folder.overlaps", Name("Folder", folder))
}

func SendFolderUnknown(folder string) Message {
	return of("hot-folder.unknown", Name("Folder", folder))
}

func SendFolderWorks(n int) Message { return of("hot-folder.works", Count("N", n)) }
func SendFolderWorksEmpty() Message { return of("hot-folder.works-empty") }

func SendFolderAway(folder string) Message  { return of("hot-folder.away", Name("Folder", folder)) }
func SendFolderBusy(folder string) Message  { return of("hot-folder.busy", Name("Folder", folder)) }
func SendFolderResumes() Message            { return of("hot-folder.resumes") }
func SendFolderWaits(folder string) Message { return of("hot-folder.waits", Name("Folder", folder)) }
func SendFolderLink(sub, folder string) Message {
	return of("hot-folder.link", Name("File", sub), Name("Folder", folder))
}
func SendFolderElsewhere(folder string) Message {
	return of("hot-folder.elsewhere", Name("Folder", folder))
}
func SendFolderStopped(folder string) Message {
	return of("hot-folder.stopped", Name("Folder", folder))
}

// SendFolderOtherAccount is of a folder that another account set up than the one that is signed in; SendFolderOtherAccountAs
// says which that is.
func SendFolderOtherAccount() Message { return of("hot-folder.other-account") }
func SendFolderOtherAccountAs(email string) Message {
	return of("hot-folder.other-account-as", Text("Email", email))
}

func FileDamaged() Message               { return of("hot-folder.damaged") }
func FileType(file string) Message       { return of("hot-folder.type", Name("File", file)) }
func FileNotSent(file string) Message    { return of("hot-folder.file-not-sent", Name("File", file)) }
func FileTakenBack() Message             { return of("hot-folder.taken-back") }
func FileBackIn(folder string) Message   { return of("hot-folder.back-in", Name("Folder", folder)) }
func FileInOutbox() Message              { return of("hot-folder.in-outbox") }
func FileSentBefore(file string) Message { return of("hot-folder.sent-before", Name("File", file)) }

// FileWaitsAlready is of a document that waits to be sent as another file; FileCameTwice of one that is the very file.
func FileWaitsAlready(file string) Message { return of("hot-folder.waits-already", Name("File", file)) }
func FileCameTwice(file, folder string) Message {
	return of("hot-folder.came-twice", Name("File", file), Name("Folder", folder))
}

func WaitForOK(n int, folder string) Message {
	return of("hot-folder.wait-for-ok", Count("N", n), Name("Folder", folder))
}

func WaitForOKSomewhere(n int) Message { return of("hot-folder.wait-for-ok-somewhere", Count("N", n)) }
func LookInOutbox() Message            { return of("hot-folder.look-in-outbox") }

func FilesNotSent(n int, folder string) Message {
	return of("hot-folder.files-not-sent", Count("N", n), Name("Folder", folder))
}

func FilesNotSentSomewhere(n int) Message {
	return of("hot-folder.files-not-sent-somewhere", Count("N", n))
}

func FilesInProblems() Message { return of("hot-folder.files-in-problems") }

func NotReturned(file, folder string) Message {
	return of("hot-folder.not-returned", Name("File", file), Name("Folder", folder))
}
