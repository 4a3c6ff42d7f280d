package message

// Backups, and an office that moves from one computer to another.

func BackupFails() Message             { return of("moving.backup-fails") }
func FromBackup(date string) Message   { return of("moving.from-backup", Day("Date", date)) }
func LookThroughDrafts() Message       { return of("moving.look-through-drafts") }
func BackupsLocked() Message           { return of("moving.backups-locked") }
func RestoreWaits() Message            { return of("moving.restore-waits") }
func DraftOfBefore() Message           { return of("moving.draft-of-before") }
func FileOfBefore(file string) Message { return of("moving.file-of-before", Name("File", file)) }
func WithdrawAgain(called string) Message {
	return of("moving.withdraw-again", Package("Package", called))
}
func NoBackups() Message                  { return of("moving.no-backups") }
func BackupNotThere(file string) Message  { return of("moving.backup-not-there", Name("File", file)) }
func BackupNotUsable(file string) Message { return of("moving.backup-not-usable", Name("File", file)) }
func BackupElsewhere(file string) Message { return of("moving.backup-elsewhere", Name("File", file)) }

func SealedForeign(file string) Message  { return of("moving.sealed-foreign", Name("File", file)) }
func SealedNewer(file string) Message    { return of("moving.sealed-newer", Name("File", file)) }
func SealedPassword(file string) Message { return of("moving.sealed-password", Name("File", file)) }
func SealedDamaged(file string) Message  { return of("moving.sealed-damaged", Name("File", file)) }
func SealedNotRead(file string) Message  { return of("moving.sealed-not-read", Name("File", file)) }
func SealedNoRoom() Message              { return of("moving.sealed-no-room") }

func PasswordShort(least int) Message   { return of("moving.password-short", Number("Least", least)) }
func NothingToMove() Message            { return of("moving.nothing-to-move") }
func MoveFileThere(file string) Message { return of("moving.file-there", Name("File", file)) }
func MoveFileNotWritten(file string) Message {
	return of("moving.file-not-written", Name("File", file))
}
func OfficeHere() Message { return of("moving.office-here") }
func CopiesLeftOut(people string) Message {
	return of("moving.copies-left-out", Text("People", people))
}
func NgrokServerLeftOut() Message { return of("moving.ngrok-server-left-out") }
func FolderLeftOut(folder string) Message {
	return of("moving.folder-left-out", Name("Folder", folder))
}
func DraftLeftOut(called string) Message { return of("moving.draft-left-out", Name("Draft", called)) }
func SealedChanged(file string) Message  { return of("moving.sealed-changed", Name("File", file)) }
func ChooseFolder() Message              { return of("moving.choose-folder") }
func MovedAway(file string) Message      { return of("moving.moved-away", Name("File", file)) }
func MovingNow() Message                 { return of("moving.now") }
func BroughtOver(computer string) Message {
	return of("moving.brought-over", Name("Computer", computer))
}
func TakenBack() Message { return of("moving.taken-back") }
