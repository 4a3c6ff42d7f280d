package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"countersign/internal/message"

	"golang.org/x/sys/windows/registry"
)

func TestThePolicyOfTheRegistryIsRead(t *testing.T) {
	place = `Software\Policies\Countersign test`
	if p := new(Reader).Read(); !reflect.DeepEqual(p, Policy{}) {
		t.Fatalf("without a key: %+v", p)
	}
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, place, registry.ALL_ACCESS|registry.WOW64_64KEY)
	if err != nil {
		t.Skip("only an administrator can write there:", err)
	}
	defer key.Close()
	defer func() {
		for _, path := range []string{place + `\Defaults`, place} {
			if err := registry.DeleteKey(registry.LOCAL_MACHINE, path); err != nil {
				t.Error(err)
			}
		}
	}()
	below, _, err := registry.CreateKey(key, "Defaults", registry.ALL_ACCESS)
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close()
	t.Setenv("COUNTERSIGN_TEST_FOLDER", `C:\an office`)
	for _, err := range []error{key.SetStringValue("Auth_URL", "https://sign.example.com"), key.SetExpandStringValue("save_to", `%COUNTERSIGN_TEST_FOLDER%\Signed`),
		key.SetDWordValue("index", 1), key.SetStringsValue("scopes", []string{"openid", "profile"}), key.SetBinaryValue("theme", []byte{1}),
		below.SetStringValue("ngrok_ca", `~\ca.pem`)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	p := new(Reader).Read()
	fixed := map[string]any{"auth_url": "https://sign.example.com", "save_to": `C:\an office\Signed`, "index": 1.0, "scopes": []string{"openid", "profile"}}
	if !reflect.DeepEqual(p.Fixed, fixed) || p.Defaults["ngrok_ca"] != filepath.Join(home, "ca.pem") || p.Wrong != message.PolicyValueNotRead("theme", `HKLM\`+place) {
		t.Errorf("%+v", p)
	}
}

func TestAKeyThatCannotBeReadTakesNothingBackWhileTheOtherCan(t *testing.T) {
	place = `Software\Policies\Countersign test`
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, place, registry.ALL_ACCESS|registry.WOW64_64KEY)
	if err != nil {
		t.Skip("only an administrator can write there:", err)
	}
	defer key.Close()
	below, _, err := registry.CreateKey(key, "Defaults", registry.ALL_ACCESS)
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close()
	defer func() {
		for _, path := range []string{place + `\Defaults`, place} {
			if err := registry.DeleteKey(registry.LOCAL_MACHINE, path); err != nil {
				t.Error(err)
			}
		}
	}()
	if err := errors.Join(key.SetStringValue("theme", "dark"), below.SetStringValue("language", "de")); err != nil {
		t.Fatal(err)
	}
	var r Reader
	before := r.Read()
	for i := range maxValues {
		if err := key.SetStringValue(fmt.Sprintf("value %d", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	p := r.Read()
	if !reflect.DeepEqual(p.Fixed, before.Fixed) || !reflect.DeepEqual(p.Defaults, before.Defaults) || p.Fixed["theme"] != "dark" || p.Wrong != message.PolicyTooLong(`HKLM\`+place) {
		t.Errorf("%+v", p)
	}
}
