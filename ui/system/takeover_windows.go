package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows/registry"
)

// installedKey is where both installers record their folder: for one person in HKEY_CURRENT_USER, for everyone in
// HKEY_LOCAL_MACHINE. Test builds use another key.
var installedKey = `Software\Countersign`

// uninstalls is how long the other installation's uninstaller may take; it waits for its program to end.
const uninstalls = time.Minute

// TakeOver uninstalls a Countersign that this person had installed for themselves if this one is for everyone on the computer:
// otherwise both would start, the older one with the newer one's data. The uninstaller ends that program, keeps the data, and
// redirects the person's choices to this one. Without such an installation it does nothing.
func TakeOver() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	if !sameFolder(installedIn(registry.LOCAL_MACHINE), filepath.Dir(program)) {
		return nil
	}
	own := installedIn(registry.CURRENT_USER)
	uninstaller := filepath.Join(own, "uninstall.exe")
	if _, err := os.Stat(uninstaller); own == "" || err != nil {
		return nil
	}
	// With the unquoted folder as last argument, the uninstaller runs in place instead of as a copy, for which one cannot wait; but
	// then it cannot remove itself.
	cmd := exec.Command(uninstaller)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: fmt.Sprintf(`"%s" /S /REPLACEDBY="%s" _?=%s`, uninstaller, program, own)}
	if err := runFor(uninstalls, cmd); err != nil {
		return fmt.Errorf("remove the program in %s: %w", own, err)
	}
	return errors.Join(os.Remove(uninstaller), os.Remove(own))
}

// installedIn returns the folder recorded by an installer; empty for none.
func installedIn(root registry.Key) string {
	key, err := registry.OpenKey(root, installedKey, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer key.Close()
	folder, _, err := key.GetStringValue("InstallDir")
	if err != nil {
		return ""
	}
	return folder
}

func sameFolder(a, b string) bool {
	return a != "" && strings.EqualFold(filepath.Clean(a), filepath.Clean(b))
}
