package locations

import (
	"os"
	"path/filepath"
)

// Default is this user's data folder. It lies in the local part of the profile: the roaming part is copied from and to a
// server whenever somebody signs in or out, and a database that is overwritten by an older copy is lost.
func Default() (folder string, err error) {
	local, err := os.UserCacheDir() // %LocalAppData%
	return filepath.Join(local, "countersign"), err
}
