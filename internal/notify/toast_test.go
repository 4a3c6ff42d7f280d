package notify

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"countersign/internal/office"
)

func TestAToastSaysWhatWasMeantAndNothingElse(t *testing.T) {
	for _, tt := range nasty {
		n := office.Notice{Title: Sanitize(tt.text, maxTitle), Body: Sanitize(tt.text, maxBody), About: office.PackageSubject(tt.text), Buttons: []office.Button{
			{Action: office.ActionShow, Label: "Show"}, {Action: office.ActionOpen, Label: `"<Open>"`},
		}}
		text := toastXML("Countersign", `C:\Users\Müller & Söhne\icon.png`, n)
		var texts, launches, buttons []string
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			noErr(t, err)
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range start.Attr {
				switch start.Name.Local + " " + a.Name.Local {
				case "toast launch":
					launches = append(launches, a.Value)
				case "action arguments":
					launches = append(launches, a.Value)
				case "action content":
					buttons = append(buttons, a.Value)
				}
			}
			if start.Name.Local == "text" {
				var s string
				noErr(t, d.DecodeElement(&s, &start))
				texts = append(texts, s)
			}
		}
		if len(texts) != 2 || texts[0] != n.Title || texts[1] != n.Body || len(buttons) != 1 || buttons[0] != `"<Open>"` {
			t.Errorf("%s: texts %q, buttons %q", tt.name, texts, buttons)
		}
		for i, want := range []office.Action{office.ActionShow, office.ActionOpen} {
			app, press, ok := readPress(launches[i])
			if !ok || app != "Countersign" || press != (office.Click{About: n.About, Action: want}) && len(tt.text) < 100 {
				t.Errorf("%s: a press says %q, %+v, %v", tt.name, app, press, ok)
			}
		}
	}
}

func TestAToastOfALongSubjectLeadsToTheWindow(t *testing.T) {
	text := arguments("Countersign", office.PackageSubject(strings.Repeat("x", 5000)), office.ActionOpen)
	if app, press, ok := readPress(text); !ok || app != "Countersign" || press != (office.Click{Action: office.ActionShow}) {
		t.Errorf("%q says %q, %+v, %v", text, app, press, ok)
	}
}

func TestNonsenseIsNoPress(t *testing.T) {
	for _, text := range []string{"", "-Embedding", "deed=run&app=Countersign", "%zz", strings.Repeat("a", 1<<20)} {
		if _, press, ok := readPress(text); ok {
			t.Errorf("%.20q is taken for %+v", text, press)
		}
	}
}
