package cli

import "os"

// The variables that bring secrets to a command.
const (
	clientSecretVariable = "COUNTERSIGN_CLIENT_SECRET"
	authtokenVariable    = "NGROK_AUTHTOKEN"
	passwordVariable     = "COUNTERSIGN_PASSWORD" // of a file that an office moves in
)

// takeSecrets moves the secrets out of this process's environment, so that no browser or other program it starts is
// given them. A variable that is set and empty is in the map too.
func takeSecrets() map[string]string {
	taken := map[string]string{}
	for _, name := range []string{clientSecretVariable, authtokenVariable, passwordVariable} {
		if v, ok := os.LookupEnv(name); ok {
			taken[name] = v
			os.Unsetenv(name)
		}
	}
	return taken
}
