package private

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// setList sets the access list of a file or folder, in the security descriptor language.
func setList(t *testing.T, path, sddl string) {
	t.Helper()
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	noErr(t, err)
	sd, err := windows.SecurityDescriptorFromString(strings.ReplaceAll(sddl, "ME", user.User.Sid.String()))
	noErr(t, err)
	list, _, err := sd.DACL()
	noErr(t, err)
	err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, list, nil)
	noErr(t, err)
}

func openUp(t *testing.T, path string) {
	t.Helper()
	setList(t, path, "D:P(A;OICI;FA;;;ME)(A;OICI;FA;;;WD)")
}

// changed is the access list.
func changed(t *testing.T, path string) string {
	t.Helper()
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	noErr(t, err)
	return sd.String()
}

func TestListsAreJudgedByWhomTheyLetIn(t *testing.T) {
	if none, err := windows.NewSecurityDescriptor(); err != nil || none.SetDACL(nil, true, false) != nil || judge(none, true) == nil {
		t.Errorf("a file without a list is everybody's, %v", err)
	}
	for list, want := range map[string]struct{ strictly, loosely bool }{
		"O:MED:P(A;;FA;;;ME)(A;;FA;;;SY)":               {false, false},
		"O:MED:(A;ID;FA;;;ME)":                          {false, false},
		"O:MED:P(A;;FA;;;ME)(A;;FA;;;BA)":               {true, false},  // administrators, as in every profile
		"O:MED:P(A;;FA;;;ME)(A;;FR;;;BU)":               {true, true},   // users may read
		"O:MED:P(A;;FA;;;ME)(A;;0x2;;;WD)":              {true, true},   // everybody may write
		"O:MED:P(A;;FA;;;ME)(A;;WD;;;AU)":               {true, true},   // authenticated users may change the list
		"O:MED:P(A;;FA;;;ME)(A;OICIIO;FA;;;WD)":         {true, false},  // only for what will be created in it
		"O:MED:P(A;;FA;;;ME)(A;;0x20;;;WD)":             {false, false}, // everybody may execute it, which reveals nothing
		"O:MED:P(D;;FA;;;WD)(A;;FA;;;ME)":               {false, false},
		"O:MED:P":                                       {false, false}, // nobody
		"O:S-1-5-21-1-2-3-1001D:P(A;;FA;;;ME)":          {false, true},  // another owner, who can give anybody access
		"O:BAD:P(A;;FA;;;ME)":                           {false, false},
		"O:MED:P(A;;FA;;;ME)(A;;FR;;;S-1-5-21-1-2-3-9)": {true, true},
	} {
		user, err := windows.GetCurrentProcessToken().GetTokenUser()
		noErr(t, err)
		sd, err := windows.SecurityDescriptorFromString(strings.ReplaceAll(list, "ME", user.User.Sid.String()))
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		if got := judge(sd, false) != nil; got != want.strictly {
			t.Errorf("%s: open is %v for a folder of ours", list, got)
		}
		if got := judge(sd, true) != nil; got != want.loosely {
			t.Errorf("%s: open is %v for a key", list, got)
		}
	}
}

func TestTheListIsTheOwnersAlone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	noErr(t, os.Mkdir(folder, 0o700))
	openUp(t, folder)
	noErr(t, Folder(folder))
	list := changed(t, folder)
	t.Log(list)
	for _, who := range []string{";;;WD)", ";;;BU)", ";;;AU)", ";;;BA)"} {
		if strings.Contains(list, who) {
			t.Errorf("%s lets in %s", list, who)
		}
	}
}
