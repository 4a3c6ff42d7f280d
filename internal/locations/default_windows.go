package locations

import (
	"os"
	"path/filepath"
)

func defaults() (folder, former string, err error) {
	local, err := os.UserCacheDir() // %LocalAppData%
	if err != nil {
		return "", "", err
	}
	if roaming, err := os.UserConfigDir(); err == nil { // %AppData%
		former = filepath.Join(roaming, "countersign")
	}
	return filepath.Join(local, "countersign"), former, nil
}
