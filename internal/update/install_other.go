//go:build !windows

package update

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"countersign/internal/message"
)

// Here is the kind of file with which this program came here, as far as that can be told; windowless is said of the
// program for servers.
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
	return "" // some other package
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Start is for Windows: elsewhere people install what was downloaded.
func Start(*os.File, []string) error {
	return message.Error(message.UpdateNotStarted(), errors.ErrUnsupported)
}

func hold(path string) (*os.File, error) { return os.Open(path) }
