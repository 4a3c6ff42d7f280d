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

// installedKey is where both installers note their folder: for a person in HKEY_CURRENT_USER, for everybody in HKEY_LOCAL_MACHINE.
// A build for tests has another.
var installedKey = `Software\Countersign`

// uninstalls is how long the other one's uninstaller may take, which waits for its program to end.
const uninstalls = time.Minute

// TakeOver has the Countersign that this person had installed for themselves give way to this one, when this one is for everybody
// on the computer: two of them would start side by side, the older one over the newer one's data. Its uninstaller ends it, leaves
// the data, and has what the person chose lead here. Where there is none it does nothing.
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
	// With the folder named last and as it is, it works in its place instead of as a copy that nobody can wait for; it cannot
	// remove itself then.
	cmd := exec.Command(uninstaller)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: fmt.Sprintf(`"%s" /S /REPLACEDBY="%s" _?=%s`, uninstaller, program, own)}
	if err := runFor(uninstalls, cmd); err != nil {
		return fmt.Errorf("remove the program in %s: %w", own, err)
	}
	return errors.Join(os.Remove(uninstaller), os.Remove(own))
}

// installedIn is the folder that an installer has noted; empty for none.
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
