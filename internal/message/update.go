package message

// Newer versions of the program.

func UpdateAvailable(version string) Message { return of("update.available", Text("Version", version)) }
func UpdateNone(version string) Message      { return of("update.none", Text("Version", version)) }
func UpdatesNotOffered() Message             { return of("update.not-offered") }

// What to do about it.

func UpdateInSettings() Message             { return of("update.in-settings") }
func UpdateDownload() Message               { return of("update.download") }
func UpdateDownloadServer() Message         { return of("update.download-server") }
func UpdateWithPackage(file string) Message { return of("update.with-package", Text("File", file)) }
func UpdateWithRPM(file string) Message     { return of("update.with-rpm", Text("File", file)) }
func UpdateWithArchive(file string) Message { return of("update.with-archive", Text("File", file)) }
func UpdateWithProgram(file string) Message { return of("update.with-program", Text("File", file)) }
func UpdateFromPage(address string) Message { return of("update.from-page", Text("Address", address)) }
func UpdateFromMaker() Message              { return of("update.from-maker") }

// What goes wrong.

func UpdateUnreachable() Message { return of("update.unreachable") }
func UpdateNotSigned() Message   { return of("update.not-signed") }
func UpdateExpired() Message     { return of("update.expired") }
func UpdateOlder() Message       { return of("update.older") }
func UpdateDamaged() Message     { return of("update.damaged") }
func UpdateNotKept() Message     { return of("update.not-kept") }
func UpdateNotPrivate() Message  { return of("update.not-private") }
func UpdateNotStarted() Message  { return of("update.not-started") }
func UpdateWorkGoesOn() Message  { return of("update.work-goes-on") }
func UpdateNotInstalled(version string) Message {
	return of("update.not-installed", Text("Version", version))
}
func UpdateSilence(days int) Message { return of("update.silence", Count("Days", days)) }
