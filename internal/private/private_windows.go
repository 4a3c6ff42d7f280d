package private

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"countersign/internal/disk"

	"golang.org/x/sys/windows"
)

// descriptor grants access to the owner and SYSTEM only, in the security descriptor language: P inherits nothing from the
// folder above, OICI passes the entry on to what is created in a folder, FA is full access.
func descriptor(folder bool) (*windows.SECURITY_DESCRIPTOR, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("find the current user: %w", err)
	}
	handOn := ""
	if folder {
		handOn = "OICI"
	}
	return windows.SecurityDescriptorFromString(fmt.Sprintf("D:P(A;%[1]s;FA;;;%[2]s)(A;%[1]s;FA;;;SY)", handOn, user.User.Sid))
}

func attributes(folder bool) (*windows.SecurityAttributes, error) {
	sd, err := descriptor(folder)
	if err != nil {
		return nil, err
	}
	sa := &windows.SecurityAttributes{SecurityDescriptor: sd}
	sa.Length = uint32(unsafe.Sizeof(*sa))
	return sa, nil
}

func makeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if err := disk.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err := newFolder(path)
	if errors.Is(err, fs.ErrExist) && isFolder(path) {
		return nil // another process may have created it
	}
	return err
}

func newFolder(path string) error {
	sa, err := attributes(true)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	if err := windows.CreateDirectory(name, sa); err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func tightenFolder(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if full, err := filepath.Abs(path); err == nil && full == filepath.VolumeName(full)+`\` {
		return nil // the root of a disk
	}
	return tighten(path, true)
}

func tightenFile(path string) error { return tighten(path, false) }

// rights selects what is read of a file's security descriptor: its owner and its access list.
const rights = windows.DACL_SECURITY_INFORMATION | windows.OWNER_SECURITY_INFORMATION

// tighten replaces the access list of a file or folder unless it is already correct.
func tighten(path string, folder bool) error {
	handle, err := openRights(path)
	if err != nil {
		return &fs.PathError{Op: "read the rights of", Path: path, Err: err}
	}
	defer windows.CloseHandle(handle)
	have, err := windows.GetSecurityInfo(handle, windows.SE_FILE_OBJECT, rights)
	if err != nil {
		return &fs.PathError{Op: "read the rights of", Path: path, Err: err}
	}
	control, _, err := have.Control()
	closed := err == nil && (!folder || control&windows.SE_DACL_PROTECTED != 0)
	if closed && judge(have, false) == nil {
		return nil
	}
	if err := replaceList(path, handle, folder); err != nil {
		return &fs.PathError{Op: "close to others", Path: path, Err: err}
	}
	return nil
}

// openRights opens a file, a folder or a link itself, with access only to its permissions.
func openRights(path string) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	return windows.CreateFile(name, windows.READ_CONTROL|windows.WRITE_DAC,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
}

// replaceList sets the access list and verifies that it is in force.
func replaceList(path string, handle windows.Handle, folder bool) error {
	want, err := descriptor(folder)
	if err != nil {
		return err
	}
	const closed = windows.DACL_SECURITY_INFORMATION | windows.PROTECTED_DACL_SECURITY_INFORMATION
	if folder { // only this call passes the list on to the folder's contents; the next one is the decisive one
		if list, _, err := want.DACL(); err == nil {
			_ = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, closed, nil, nil, list, nil)
		}
	}
	if err := windows.SetKernelObjectSecurity(handle, closed, want); err != nil {
		return err
	}
	have, err := windows.GetSecurityInfo(handle, windows.SE_FILE_OBJECT, rights)
	if err != nil {
		return err
	}
	return judge(have, false)
}

func createTemp(folder, pattern string) (*os.File, error) {
	sa, err := attributes(false)
	if err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(pattern, "*")
	path := filepath.Join(folder, before+rand.Text()+after)
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE,
		sa, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

func openToOthers(f *os.File) error {
	sd, err := windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT, rights)
	if err != nil {
		return fmt.Errorf("read its rights: %w", err)
	}
	return judge(sd, true)
}

// telling are the rights that let somebody read or replace a file, or obtain the right to.
const telling = windows.FILE_READ_DATA | windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | windows.WRITE_DAC | windows.WRITE_OWNER |
	windows.DELETE | windows.GENERIC_READ | windows.GENERIC_WRITE | windows.GENERIC_ALL

// Types of access control entries (winnt.h) besides windows.ACCESS_ALLOWED_ACE_TYPE.
const (
	deniedType          = 1
	auditType           = 2
	allowedCallbackType = 9 // has the format of an allowed entry, followed by a condition
)

// judge reports who other than the user and SYSTEM has telling rights. With administrators set, these may have them, too.
func judge(sd *windows.SECURITY_DESCRIPTOR, administrators bool) error {
	ours, err := trusted(administrators)
	if err != nil {
		return err
	}
	if owner, _, err := sd.Owner(); err == nil && owner != nil && administrators && !ours(owner) {
		return fmt.Errorf("%w: it belongs to %s", ErrOpen, owner)
	}
	list, _, err := sd.DACL()
	if err != nil || list == nil {
		return fmt.Errorf("%w: it has no access list", ErrOpen) // no access list means access for everybody
	}
	for i := range uint32(list.AceCount) {
		var entry *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &entry); err != nil {
			return fmt.Errorf("read its access list: %w", err)
		}
		switch entry.Header.AceType {
		case deniedType, auditType:
			continue
		case windows.ACCESS_ALLOWED_ACE_TYPE, allowedCallbackType:
		default:
			return fmt.Errorf("%w: its access list has an entry of kind %d", ErrOpen, entry.Header.AceType)
		}
		if entry.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0 && administrators || entry.Mask&telling == 0 {
			continue
		}
		if who := (*windows.SID)(unsafe.Pointer(&entry.SidStart)); !ours(who) {
			return fmt.Errorf("%w: %s", ErrOpen, who)
		}
	}
	return nil
}

// trusted returns a function that reports whether an identifier is the user's own, the system's or, with administrators set,
// theirs.
func trusted(administrators bool) (func(*windows.SID) bool, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("find the current user: %w", err)
	}
	return func(who *windows.SID) bool {
		return who.Equals(user.User.Sid) || who.IsWellKnown(windows.WinLocalSystemSid) || who.IsWellKnown(windows.WinCreatorOwnerRightsSid) ||
			administrators && who.IsWellKnown(windows.WinBuiltinAdministratorsSid)
	}, nil
}
