package locations

import (
	"os"
	"path/filepath"
)

// Default is the data folder of this user. It lies in the part of the profile that stays on the computer: the rest of it is copied from
// and to a server whenever somebody signs in and out, and a database that a copy has overtaken is a lost one.
func Default() (folder string, err error) {
	local, err := os.UserCacheDir() // %LocalAppData%
	return filepath.Join(local, "countersign"), err
}
