package message

// Saving signed documents.

func FileThere(file, folder string) Message {
	return of("folder.file-there", Name("File", file), Name("Folder", folder))
}

func DiskFull(folder string) Message      { return of("folder.disk-full", Name("Folder", folder)) }
func FolderMissing(folder string) Message { return of("folder.missing", Name("Folder", folder)) }

func SubfolderIsFile(file, folder string) Message {
	return of("folder.subfolder-is-file", Name("File", file), Name("Folder", folder))
}

func NotAFolder(folder string) Message      { return of("folder.not-a-folder", Name("Folder", folder)) }
func FolderForbidden(folder string) Message { return of("folder.forbidden", Name("Folder", folder)) }

func LeadsOut(file, folder string) Message {
	return of("folder.leads-out", Name("File", file), Name("Folder", folder))
}

func NoFileName(file string) Message { return of("folder.no-file-name", Name("File", file)) }
func NotAPDF(file string) Message    { return of("folder.not-a-pdf", Name("File", file)) }
func NoEnd(file string) Message      { return of("folder.no-end", Name("File", file)) }

func DownloadInterrupted(file string) Message {
	return of("folder.download-interrupted", Name("File", file))
}

func FolderUnusable(folder string) Message { return of("folder.unusable", Name("Folder", folder)) }

func NotSaved(file, folder string) Message {
	return of("folder.not-saved", Name("File", file), Name("Folder", folder))
}

func SavingStopped() Message    { return of("folder.saving-stopped") }
func DocumentNotSaved() Message { return of("folder.document-not-saved") }

func WaitForRoom(folder string, n int) Message {
	return of("folder.wait-for-room", Name("Folder", folder), Count("N", n))
}

func WaitForPermission(folder string, n int) Message {
	return of("folder.wait-for-permission", Name("Folder", folder), Count("N", n))
}

func WaitForFolder(folder string, n int) Message {
	return of("folder.wait-for-folder", Name("Folder", folder), Count("N", n))
}

func FilesWait(n int) Message    { return of("folder.files-wait", Count("N", n)) }
func FilesGivenUp(n int) Message { return of("folder.files-given-up", Count("N", n)) }

func PackageWithheld(called string) Message {
	return of("folder.package-withheld", Package("Package", called))
}

func PackagesWithheld(n int) Message { return of("folder.packages-withheld", Count("N", n)) }
func DocumentsNotListed() Message    { return of("folder.documents-not-listed") }
func DownloadForbidden() Message     { return of("folder.download-forbidden") }

func Saved(file, folder string) Message {
	return of("folder.saved", Name("File", file), Text("Folder", folder))
}

func SavedBefore(file, folder string) Message {
	return of("folder.saved-before", Name("File", file), Text("Folder", folder))
}

func EndUnproven() Message { return of("folder.end-unproven") }

// What a folder's index calls its columns, and what keeps it from being written.

func IndexSaved() Message   { return of("index.saved") }
func IndexPackage() Message { return of("index.package") }
func IndexPeople() Message  { return of("index.people") }
func IndexSent() Message    { return of("index.sent") }
func IndexSigned() Message  { return of("index.signed") }
func IndexNumber() Message  { return of("index.number") }
func IndexFile() Message    { return of("index.file") }
func IndexWaits() Message   { return of("index.waits") }
