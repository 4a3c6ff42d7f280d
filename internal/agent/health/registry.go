package health

import (
	"time"

	"countersign/internal/message"
)

// Everything that can be wrong. The code that detects a state sets it, and clears it when its comment says so; states that are
// cleared together have Ends. Ids appear in `status --json` and in the records of notifications, so they must not change. States
// with the same id replace each other. Every state but an Info has an Action. To add one, add it here and use it; its message is in
// package message.
var (
	// NotSetUp ends when the settings are complete.
	NotSetUp = State{ID: "setup", Severity: Problem, Action: ActSettings}
	// KeyringLocked ends when the key has been read.
	KeyringLocked = State{ID: "keyring", Step: message.StepSignIn(), Severity: Problem, Action: ActUnlock, After: soon}
	// KeyOutOfReach ends likewise, but there is nothing to unlock.
	KeyOutOfReach = State{ID: "keyring", Step: message.StepSignIn(), Severity: Problem, Action: ActRetry, After: soon}
	// KeyReplaced ends when everything that can be opened no more has been entered again.
	KeyReplaced = State{ID: "keyring-replaced", Step: message.StepSignIn(), Severity: Problem, Action: ActSettings, After: soon}
	// SecretElsewhere ends when this service's client secret is entered, or somebody signs in without one.
	SecretElsewhere = State{ID: "secret", Step: message.StepSignIn(), Severity: Problem, Action: ActSettings, After: soon}

	// SignedOut ends with a sign-in. There is no notification for something a person did, or has yet to do for the first time.
	SignedOut = State{ID: "signin", Step: message.StepSignIn(), Severity: Problem, Action: ActSignIn}
	// SignInLapsed ends with a sign-in.
	SignInLapsed = State{ID: "signin", Step: message.StepSignIn(), Severity: Problem, Action: ActSignIn, After: soon}
	// SignInShort ends with a sign-in that can be renewed.
	SignInShort = State{ID: "scope-offline", Step: message.StepSignIn(), Severity: Warning, Action: ActSettings, Ends: WithService | WithSignIn}
	// MayNotSend ends with a sign-in that is allowed to send.
	MayNotSend = State{ID: "scope-packages", Step: message.StepSignIn(), Severity: Problem, Action: ActSwitch, Ends: WithService | WithSignIn}
	// MayNotSee ends when the service answers about a package.
	MayNotSee = State{ID: "packages-forbidden", Step: message.StepSignIn(), Severity: Problem, Action: ActSwitch, After: soon, Ends: WithService | WithSignIn}
	// ClientRefused ends when the service answers.
	ClientRefused = State{ID: "client", Step: message.StepService(), Severity: Problem, Action: ActSettings, After: soon, Ends: WithService}
	// ServiceBusy ends when the service answers, or with the sign-in, because then nobody asks any more: it asks to be left alone for
	// a while, which is no problem.
	ServiceBusy = State{ID: "service", Step: message.StepService(), Severity: Info, Ends: WithService | WithSignIn}
	// ServiceFails ends likewise.
	ServiceFails = State{ID: "service", Step: message.StepService(), Severity: Warning, Action: ActRetry, Ends: WithService | WithSignIn}
	// NetworkAsks ends when the service answers, or the network no longer asks for a sign-in.
	NetworkAsks = State{ID: "network", Step: message.StepService(), Severity: Problem, Action: ActNetwork, After: soon, Ends: WithService}

	// ClockWrong ends when the service's answers show that this computer's clock is right, or when it is set.
	ClockWrong = State{ID: "clock", Severity: Warning, Action: ActRetry, Ends: WithService}

	// AddressClosed ends when the public address is open. A laptop on the move has no network for a while.
	AddressClosed = State{ID: "tunnel", Step: message.StepAddress(), Severity: Problem, Action: ActRetry, After: 15 * time.Minute, Behind: "service"}
	// AddressRefused ends likewise, but needs other settings.
	AddressRefused = State{ID: "tunnel", Step: message.StepAddress(), Severity: Problem, Action: ActSettings, After: 15 * time.Minute, Behind: "service"}
	// NoAddress ends when the settings include a way to open a public address.
	NoAddress = State{ID: "no-tunnel", Step: message.StepAddress(), Severity: Info}
	// HubAway ends when this desk hears from the hub again, or is no longer a desk.
	HubAway = State{ID: "hub", Step: message.StepAddress(), Severity: Warning, Action: ActRetry, After: 15 * time.Minute}
	// DeskUnwelcome ends likewise, but needs a new invitation.
	DeskUnwelcome = State{ID: "hub", Step: message.StepAddress(), Severity: Problem, Action: ActSettings, After: soon}
	// HubFails ends when other desks can be served, or this is no longer a hub.
	HubFails = State{ID: "desks", Severity: Problem, Action: ActRetry, After: soon}
	// HubReplaced ends likewise, or when this computer counts on from the later hub.
	HubReplaced = State{ID: "desks", Severity: Problem, Action: ActBeHub, After: soon}
	// EndpointFails ends when the endpoint is registered.
	EndpointFails = State{ID: "endpoint", Step: message.StepEndpoint(), Severity: Warning, Action: ActRetry, Behind: "service", Ends: WithService | WithSignIn}
	// EndpointForbidden ends likewise, but needs another account.
	EndpointForbidden = State{ID: "endpoint", Step: message.StepEndpoint(), Severity: Warning, Action: ActSwitch, Ends: WithService | WithSignIn}
	// EndpointLost ends when an event arrives, or the endpoint is taken back.
	EndpointLost = State{ID: "endpoint-lost", Step: message.StepEndpoint(), Severity: Warning, Action: ActTakeEndpoint, Ends: WithService}

	// FolderFails ends when a file has been saved, or another folder chosen.
	FolderFails = State{ID: "folder", Step: message.StepDocuments(), Severity: Problem, Action: ActChooseFolder, After: soon}
	// HotFolderFails ends when every hot folder can be used, or no longer sends, or is away together with the folder for documents, of
	// which there is an issue.
	HotFolderFails = State{ID: "hot-folder", Severity: Problem, Action: ActFolders, After: soon}
	// HotFolderWaits ends when no file of a hot folder is stuck.
	HotFolderWaits = State{ID: "hot-folder-waits", Severity: Problem, Action: ActFolders, After: soon}
	// FilesNotSent ends when somebody has read it, until there are more. Each file has already had its notification.
	FilesNotSent = State{ID: "hot-folder-files", Severity: Problem, Action: ActDismiss}
	// FilesRefused ends when the service provides the files.
	FilesRefused = State{ID: "withheld", Step: message.StepDocuments(), Severity: Problem, Action: ActRetry, After: soon}
	// FilesFailed ends when no file counts as given up any more.
	FilesFailed = State{ID: "saves", Step: message.StepDocuments(), Severity: Problem, Action: ActRetry, After: soon}
	// DocumentsWrong ends when somebody has read it, until there are more.
	DocumentsWrong = State{ID: "seal", Step: message.StepDocuments(), Severity: Problem, Action: ActDismiss, After: soon}
	// FilesAstray ends when somebody has read it, until more are found, or when everything is back.
	FilesAstray = State{ID: "files", Step: message.StepDocuments(), Severity: Problem, Action: ActDismiss, After: soon}
	// FolderAway ends likewise, of the folder for documents as a whole.
	FolderAway = State{ID: "files", Step: message.StepDocuments(), Severity: Problem, Action: ActChooseFolder, After: soon, Behind: "folder"}
	// RecordWaits ends when the record has been stamped and copied as the office wants.
	RecordWaits = State{ID: "record", Severity: Warning, Action: ActSettings, After: 24 * time.Hour}
	// RecordOlder ends when somebody has read it, or with the program.
	RecordOlder = State{ID: "record-older", Severity: Warning, Action: ActDismiss}
	// OutcomeUnknown ends when it is known for every draft whether it was sent.
	OutcomeUnknown = State{ID: "outbox", Severity: Warning, Action: ActReview}
	// WithdrawalWaits ends when the service has reported the outcome of every withdrawal, or people have given them up.
	WithdrawalWaits = State{ID: "withdrawal", Severity: Warning, Action: ActRetry, After: soon, Ends: WithService}

	// DataDamaged ends with the program; the next start begins anew.
	DataDamaged = State{ID: "data", Severity: Problem, Action: ActQuit, After: soon}
	// DataNotWritten ends when a write has succeeded and the disk has room for more.
	DataNotWritten = State{ID: "data", Severity: Problem, Action: ActRetry, After: soon}
	// DataNotRead ends with the program.
	DataNotRead = State{ID: "data-not-read", Severity: Problem, Action: ActQuit, After: soon}
	// DataRestored ends when somebody has read it.
	DataRestored = State{ID: "data-restored", Severity: Warning, Action: ActDismiss}
	// DataLost ends with the program.
	DataLost = State{ID: "data-restored", Severity: Warning, Action: ActSettings}
	// RestoreWaits ends when the key has been read, and the state restored with it.
	RestoreWaits = State{ID: "data-restored", Severity: Problem, Action: ActUnlock, After: soon}
	// BackupFails ends when a backup has been made.
	BackupFails = State{ID: "backup", Severity: Warning, Action: ActRetry, After: time.Minute}
	// MovedAway ends when the office is taken back.
	MovedAway = State{ID: "moved", Severity: Problem, Action: ActTakeBack}
	// RecordsUnreadable ends when somebody has read it, until there are more, or with the program.
	RecordsUnreadable = State{ID: "records", Severity: Warning, Action: ActDismiss}
	// RecordsPutOff ends when nothing is in quarantine any more.
	RecordsPutOff = State{ID: "aside", Severity: Warning, Action: ActRetry}
	// IndexWaits ends when the index of saved files is up to date.
	IndexWaits = State{ID: "index", Severity: Info, After: time.Hour, Behind: "folder"}
	// PolicyWrong ends when every decision of the computer's administrator can be applied.
	PolicyWrong = State{ID: "policy", Severity: Info}
	// NotificationsFail ends when a notification has been raised.
	NotificationsFail = State{ID: "notify", Severity: Info}
	// NotRunning ends with the command that works alone.
	NotRunning = State{ID: "not-running", Severity: Info}
)

// ConcernsData reports whether an issue is about the office's data as a whole: it cannot be read or written, or was lost.
func (i Issue) ConcernsData() bool {
	return i.ID == DataNotWritten.ID || i.ID == DataNotRead.ID || i.ID == DataRestored.ID
}

// States returns all states except those made by Stopped.
func States() []State {
	return []State{NotSetUp, KeyringLocked, KeyOutOfReach, KeyReplaced, SecretElsewhere, SignedOut, SignInLapsed, SignInShort,
		MayNotSend, MayNotSee, ClientRefused, ServiceBusy, ServiceFails, NetworkAsks, ClockWrong, AddressClosed, AddressRefused, NoAddress, HubAway, DeskUnwelcome, HubFails, HubReplaced, EndpointFails, EndpointForbidden,
		EndpointLost, FolderFails, HotFolderFails, HotFolderWaits, FilesNotSent, FilesRefused, FilesFailed, DocumentsWrong, FilesAstray, FolderAway, RecordWaits, RecordOlder, OutcomeUnknown, WithdrawalWaits, DataDamaged, DataNotWritten, DataNotRead, DataRestored, DataLost, RestoreWaits, BackupFails, MovedAway, RecordsUnreadable, RecordsPutOff, IndexWaits, PolicyWrong, NotificationsFail, NotRunning}
}

// soon is how long most problems last before people are told.
const soon = 3 * time.Minute

// Stopped says that a part of the program fails repeatedly. It ends when the part has run for a while.
func Stopped(part string) State {
	return State{ID: "internal-" + part, Severity: Problem, Action: ActRetry, After: soon}
}
