package secret

import (
	"os"
	"testing"

	"countersign/internal/private"

	"golang.org/x/sys/windows"
)

// setRights makes a file readable for everybody if its mode says so, and otherwise for nobody else.
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
