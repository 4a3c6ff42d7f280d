package message

// Countersign's own data, and the program itself.

func DataInUse() Message              { return of("data.in-use") }
func DataNewer() Message              { return of("data.newer") }
func DataDamaged(file string) Message { return of("data.damaged", Name("File", file)) }
func Closing() Message                { return of("data.closing") }
func TargetTaken() Message            { return of("data.target-taken") }
func DataDiskFull() Message           { return of("data.disk-full") }
func DataForbidden() Message          { return of("data.forbidden") }
func DataUnusable() Message           { return of("data.unusable") }
func Running() Message                { return of("data.running") }
func NotRunning() Message             { return of("data.not-running") }
func DoesNotEnd() Message             { return of("data.does-not-end") }
func NotAllForgotten() Message        { return of("data.not-all-forgotten") }

// NotAllRemoved is said of a data folder.
func NotAllRemoved(folder string) Message {
	return of("data.not-all-removed", Name("Folder", folder))
}

func SocketInTheWay() Message            { return of("data.socket-in-the-way") }
func DataFolderMissing() Message         { return of("data.folder-missing") }
func DataFolderForbidden() Message       { return of("data.folder-forbidden") }
func DataFolderUnusable() Message        { return of("data.folder-unusable") }
func DataDamagedNow() Message            { return of("data.damaged-now") }
func OwnDiskFull() Message               { return of("data.own-disk-full") }
func DataNotWritten() Message            { return of("data.not-written") }
func DataNotRead() Message               { return of("data.not-read") }
func RecordNotRead() Message             { return of("data.record-not-read") }
func DataWasMissing() Message            { return of("data.was-missing") }
func DataPutAside() Message              { return of("data.put-aside") }
func DataWasDamaged(file string) Message { return of("data.was-damaged", Name("File", file)) }
func DataRestored() Message              { return of("data.restored") }
func DataLost() Message                  { return of("data.lost") }
func RecordsUnreadable() Message         { return of("data.records-unreadable") }
func RecordsPutOff() Message             { return of("data.records-put-off") }
func PartStopped() Message               { return of("data.part-stopped") }
func NotificationsFail() Message         { return of("data.notifications-fail") }
