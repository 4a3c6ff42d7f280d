package esign

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestTextIsReadTheSameHoweverItIsWritten(t *testing.T) {
	for raw, want := range map[string]text{
		`"Anna"`:        "Anna",
		`""`:            "",
		`"Zoë"`:         "Zoë",
		`"Zo\u00eb"`:    "Zoë",
		`"a \"b\" \\c"`: `a "b" \c`,
		`12.50`:         "12.50",
		`0`:             "0",
		`null`:          "",
		`true`:          "",
		`{"a":"b"}`:     "",
		"\"bad \xff\"":  "bad \ufffd",
		"\"a\nb\"":      "",
		`"`:             "",
		`"a" and "b"`:   "",
		``:              "",
	} {
		got := text("before")
		if got.UnmarshalJSON([]byte(raw)); got != want {
			t.Errorf("%q is read as %q, want %q", raw, got, want)
		}
	}
}

func TestACodeIsShownIfItIsAWord(t *testing.T) {
	for code, want := range map[string]bool{"azAZ09_-.: x": true, strings.Repeat("a", 80): true, strings.Repeat("a", 81): false,
		"a`": false, "a{": false, "a@": false, "a[": false, "a/": false, "a;": false, "a secret": false} {
		expect(t, cleanCode(code, "", "secret") == code, want, "%[2]q is shown: %[1]v", code)
	}
}

func TestAPackageIsReadTheSameWhetherItsListsAreOrNot(t *testing.T) {
	const document = `{"documentId":"d","externalId":{"a":1},"index":"2","revisions":[{"revisionId":"r","signerId":"s","isSigned":1},null]}`
	const plain = `{"packageId":"p","PackageID":"q","state":" OPEN ","isExecuted":"true","externalData":[1, 2],"timeCreated":"2026-11-23T01:02:03Z",` +
		`"documents":[` + document + `,null,{}],"signers":[{"signerId":"s","order":1},null,{"email":"a@b.c","timeDeclined":"2026-11-23"}],` +
		`"recipients":[{"email":"c@d.e","type":"bcc"}],"more":{"signers":7}}`
	if s, ok := readStatus([]byte(plain)); !ok || s.PackageID != "q" || len(s.Documents) != 3 || len(s.Signers) != 2 {
		t.Errorf("%+v", s)
	}
	want, _ := readStatus([]byte(`{"packageId":"p","documents":[` + document + `]}`))
	for _, wrapped := range []string{`{"packageId":"p","package":{"packageId":"p","documents":[` + document + `]}}`, `{"packageId":"p","documents":[` + document + `],"package":{"name":"n"}}`} {
		if s, ok := readStatus([]byte(wrapped)); !ok || !reflect.DeepEqual(s, want) {
			t.Errorf("%s is read as\n%+v, and not as\n%+v", wrapped, s, want)
		}
	}
	for odd, same := range map[string]string{
		`{"packageId":"p","documents":` + document + `}`:                                                               `{"packageId":"p","documents":[` + document + `]}`,
		`{"packageId":"p","documents":[7,` + document + `]}`:                                                           `{"packageId":"p","documents":[null,` + document + `]}`,
		`{"packageId":"p","documents":"none","signers":"none","recipients":{}}`:                                        `{"packageId":"p","documents":[{}],"recipients":[{}]}`,
		`{"packageId":"p","signers":{"signerId":"s"}}`:                                                                 `{"packageId":"p","signers":[{"signerId":"s"}]}`,
		`{"packageId":"p","signers":[[],{"signerId":"s"},"x"]}`:                                                        `{"packageId":"p","signers":[{"signerId":"s"}]}`,
		`{"packageId":"p","documents":[{"documentId":"d","isExecuted":true}],"Documents":[{"documentId":"e"}]}`:        `{"packageId":"p","documents":[{"documentId":"e"}]}`,
		`{"packageId":"p","documents":[{"name":"A"}],"docu\u006dents":[{"documentId":"e"}]}`:                           `{"packageId":"p","documents":[{"documentId":"e"}]}`,
		`{"packageId":"p","documents":[{"revisions":[{"isSigned":true}],"reviſions" : [{"signerId":"s"}]},{"x":"["}]}`: `{"packageId":"p","documents":[{"revisions":[{"signerId":"s"}]},{}]}`,
		`{"packageId":"p","signers":[{"email":"a@b.c"}],"SIGNERS":[{"signerId":"s"}]}`:                                 `{"packageId":"p","signers":[{"signerId":"s"}]}`,
		`{"packageId":"p","documents":[{"revisions":{"revisionId":"r"}}]}`:                                             `{"packageId":"p","documents":[{"revisions":[{"revisionId":"r"}]}]}`,
	} {
		got, ok := readStatus([]byte(odd))
		want, _ := readStatus([]byte(same))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as\n%+v, and not as\n%+v", odd, got, want)
		}
		for _, form := range []string{`{"items":[%s,%s],"total":"2"}`, `[%s,null,%s]`} {
			got, ok := readPage(fmt.Appendf(nil, form, odd, plain))
			if want, _ := readPage(fmt.Appendf(nil, form, same, plain)); !ok || len(got.Items) != 2 || !reflect.DeepEqual(got, want) {
				t.Errorf("a list with %s is read as\n%+v, and not as\n%+v", odd, got, want)
			}
		}
	}
}

// An answer of a few kilobytes may hold thousands of documents.
func TestAClientKeepsNothingOfWhatItWasAnswered(t *testing.T) {
	answer := fmt.Sprintf(`{"state":"open","documents":[%s{}]}`, strings.Repeat("{},", 5000))
	c := NewClient(Config{AuthURL: "https://sign.test", BaseURL: "https://sign.test", ClientID: "c", HTTP: &http.Client{Transport: saying(answer)}}, &tokens{})
	held := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc >> 20)
	}
	before := held()
	for i := range 40 {
		s, err := c.Status(t.Context(), fmt.Sprint("p", i))
		if err != nil || len(s.Documents) == 0 {
			t.Fatalf("%d documents, %v", len(s.Documents), err)
		}
	}
	if took := held() - before; took > 10 {
		t.Errorf("%d MiB are kept of 40 answers of %d KiB", took, len(answer)>>10)
	}
	runtime.KeepAlive(c)
}

// saying gives every request the same answer.
type saying string

// RoundTrip is http.RoundTripper's.
func (s saying) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(s))), Request: req}, nil
}

// A person who is asked again may keep the time of the earlier decline.
func TestWhoHasDeclinedIsWhatTheStateSaysWhereItDoes(t *testing.T) {
	for _, c := range []struct {
		state string
		want  bool
	}{{`"active"`, false}, {`"Active"`, false}, {`"declined"`, true}, {`"rejected"`, true}, {`"deleted"`, true}, {`null`, true}} {
		s, ok := readStatus([]byte(`{"packageId":"p","signers":[{"signerId":"s","timeDeclined":"2026-11-23T10:00:00Z","state":` + c.state + `}]}`))
		if !ok || len(s.Signers) != 1 || s.Signers[0].Declined != c.want || !s.Signers[0].StateTold || s.Signers[0].Deleted != (c.state == `"deleted"`) {
			t.Errorf("state %s: %+v", c.state, s.Signers)
		}
	}
}
