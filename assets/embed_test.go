package assets

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/png"
	"io/fs"
	"strings"
	"testing"
)

func TestEveryPageOfTheManualBeginsWithItsTitle(t *testing.T) {
	for _, topic := range []string{"admin", "develop", "interface", "service-facts", "changes"} {
		if text, ok := Doc(topic); !ok || !bytes.HasPrefix(text, []byte("# ")) {
			t.Errorf("%s: %.40q", topic, text)
		}
	}
	if _, ok := Doc("nothing"); ok {
		t.Error("there is a page about nothing")
	}
}

func TestEveryIconHasTheSizeOnItsName(t *testing.T) {
	check := func(data []byte, err error, size int) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		img, _, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || img.Width != size || img.Height != size {
			t.Errorf("want %d px, got %dx%d (%v)", size, img.Width, img.Height, err)
		}
	}
	for _, size := range []int{512, 256, 128, 64, 48, 32, 22} {
		data, err := Icon(size)
		check(data, err, size)
	}
	for _, state := range []Tray{TrayFine, TrayWorking, TrayAttention} {
		for _, size := range []int{22, 44, 64} {
			data, err := TrayIcon(state, size)
			check(data, err, size)
		}
	}
	if _, err := Icon(17); err == nil {
		t.Error("a size that was not drawn must be an error")
	}
}

func TestEveryMarkIsThere(t *testing.T) {
	for _, name := range []string{"signed", "next", "later", "ended", "note", "problem", "saved", "drop"} {
		if data, err := Mark(name); err != nil || !bytes.Contains(data, []byte("<svg")) {
			t.Errorf("mark %s: %v", name, err)
		}
	}
}

func TestServicesForTryingOutComeLast(t *testing.T) {
	var list []struct {
		AuthURL string `json:"auth_url"`
	}
	if err := json.Unmarshal(Services(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 2 || list[0].AuthURL != "" {
		t.Fatalf("the neutral service is not the first of %+v", list)
	}
	tryingOut := false
	for _, s := range list {
		sandbox := strings.HasPrefix(s.AuthURL, "https://sandbox.")
		if tryingOut && !sandbox {
			t.Errorf("%s comes after a sandbox", s.AuthURL)
		}
		tryingOut = tryingOut || sandbox
	}
}

func TestSamplesArePDFs(t *testing.T) {
	names, err := fs.Glob(Samples(), "*.pdf")
	if err != nil || len(names) != 3 {
		t.Fatalf("want three samples, got %v (%v)", names, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(Samples(), name)
		if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) {
			t.Errorf("%s is not a PDF (%v)", name, err)
		}
	}
}

func TestReturnPageSaysWhatHappenedAndEscapesIt(t *testing.T) {
	cases := map[string]struct {
		in   Return
		want string
	}{
		"signed in":  {Return{OK: true, Text: "It works for office@example.com."}, "works for office@example.com"},
		"failed":     {Return{Text: "The office <b>refused</b>."}, "The office &lt;b&gt;refused&lt;/b&gt;."},
		"a language": {Return{Language: "de"}, `<html lang="de">`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var page strings.Builder
			if err := WriteReturn(&page, c.in); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(page.String(), c.want) {
				t.Errorf("want %q in:\n%s", c.want, page.String())
			}
			_, script, _ := strings.Cut(page.String(), "<script>")
			script, rest, _ := strings.Cut(script, "</script>")
			if !strings.HasPrefix(script, "history.replaceState(") || strings.Contains(rest, "<script") {
				t.Errorf("the one script takes the code out of the address bar: %q", script)
			}
			if sum := sha256.Sum256([]byte(script)); !strings.Contains(ReturnPolicy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
				t.Errorf("browsers will not run the script under %s", ReturnPolicy)
			}
			for _, foreign := range []string{"http://", "https://", "src="} {
				if strings.Contains(page.String(), foreign) {
					t.Errorf("the page must be self-contained, found %q", foreign)
				}
			}
		})
	}
}
