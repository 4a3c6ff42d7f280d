package secret

import (
	"os"
	"testing"

	"countersign/internal/private"

	"golang.org/x/sys/windows"
)

// setRights lets everybody read a file whose mode would, and nobody one whose mode would not.
func setRights(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if mode&0o077 == 0 {
		noErr(t, private.Files(path))
		return
	}
	sd, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;WD)")
	noErr(t, err)
	list, _, err := sd.DACL()
	noErr(t, err)
	noErr(t, windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION, nil, nil, list, nil))
}
