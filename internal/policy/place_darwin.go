package policy

import "os/user"

// place is the file of the policy. A build for tests has another.
var place = "/Library/Application Support/Countersign/policy.json"

// sources are configuration profiles and, below them, the file.
func sources() []source {
	var person string
	if u, err := user.Current(); err == nil { // by the number of the user, whatever the environment says
		person = u.Username
	}
	return append(profiles("/Library/Managed Preferences", person), source{place, readFile})
}
