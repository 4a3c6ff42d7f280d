//go:build !windows

package update

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"countersign/internal/message"
)

// Here is the kind of file from which this program was installed, as far as it can be determined; windowless marks the
// server program.
func Here(windowless bool) string {
	switch self, err := os.Executable(); {
	case err != nil, runtime.GOOS != "linux":
		return ""
	case windowless:
		return Server
	case !strings.HasPrefix(self, "/usr/"), strings.HasPrefix(self, "/usr/local/"):
		return Tar
	case self == "/usr/bin/countersign" && isThere("/var/lib/dpkg/info/countersign.list"):
		return Deb
	case self == "/usr/bin/countersign" && (isThere("/usr/lib/sysimage/rpm") || isThere("/var/lib/rpm")):
		return RPM
	}
	return "" // another kind of package
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Start is only needed on Windows: elsewhere people install the download themselves.
func Start(*os.File, []string) error {
	return message.Error(message.UpdateNotStarted(), errors.ErrUnsupported)
}

func hold(path string) (*os.File, error) { return os.Open(path) }
