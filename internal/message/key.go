package message

// The key in the keyring or in a file, and what it seals.

func KeyringLocked() Message           { return of("key.keyring-locked") }
func KeyringStillLocked() Message      { return of("key.keyring-still-locked") }
func KeyringNoSession() Message        { return of("key.keyring-no-session") }
func KeyringMissing() Message          { return of("key.keyring-missing") }
func KeyringSilent() Message           { return of("key.keyring-silent") }
func KeyringNoKey() Message            { return of("key.keyring-no-key") }
func KeyringForgot() Message           { return of("key.keyring-forgot") }
func KeyringRefused() Message          { return of("key.keyring-refused") }
func KeyFileNoKey(file string) Message { return of("key.file-no-key", Name("File", file)) }
func KeyFileOpen(file string) Message  { return of("key.file-open", Name("File", file)) }

func KeyFileOpenOnWindows(file string) Message {
	return of("key.file-open-on-windows", Name("File", file))
}

func KeyFileUnusable(file string) Message { return of("key.file-unusable", Name("File", file)) }
func NoKeyYet() Message                   { return of("key.no-key-yet") }
func KeyThere() Message                   { return of("key.there") }
func KeyReplacedSince() Message           { return of("key.replaced-since") }
func SecretDamaged() Message              { return of("key.secret-damaged") }
func KeyUnreachable() Message             { return of("key.unreachable") }
func KeyReplaced() Message                { return of("key.replaced") }
func EnterClientSecret() Message          { return of("key.enter-client-secret") }
func EnterAuthtoken() Message             { return of("key.enter-authtoken") }
func SignIn() Message                     { return of("key.sign-in") }
func SecretElsewhere() Message            { return of("key.secret-elsewhere") }
