package sandbox

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// try is a request that may fail; it reads the whole answer.
func (r *rig) try(path string) (int, []byte, error) {
	req, err := http.NewRequest("GET", r.s.URL()+path, nil)
	must(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.token)
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

func TestEveryFault(t *testing.T) {
	r := signedIn(t, Options{})
	const path = "/api/v1/organizations/info"
	fine := func() {
		t.Helper()
		wantStatus(t, r.get(path), 200)
	}

	r.s.Inject(Fault{Path: "/organizations/*", Times: 2, Status: 429, Headers: map[string]string{"Retry-After": "7"}})
	for range 2 {
		a := r.get(path)
		wantStatus(t, a, 429)
		if a.Header.Get("Retry-After") != "7" || a.json(t)["error"] == nil {
			t.Errorf("answer %v %s", a.Header, a.body)
		}
	}
	fine()

	r.s.Inject(Fault{Method: "get", Skip: 1, Times: 1, Status: 500, Body: "oops"})
	fine()
	if a := r.get(path); a.StatusCode != 500 || string(a.body) != "oops" {
		t.Errorf("got %d %q", a.StatusCode, a.body)
	}
	fine()

	r.s.Inject(Fault{Path: "/organizations/info", Times: 1, TruncateAfter: 10})
	if _, body, err := r.try(path); !errors.Is(err, io.ErrUnexpectedEOF) || len(body) != 10 {
		t.Errorf("truncated: %d bytes, %v", len(body), err)
	}
	fine()

	r.s.Inject(Fault{Path: "/organizations/info", Times: 1, DelayMS: 1})
	fine()

	id := r.s.Inject(Fault{Method: "POST", Path: "/packages/add", Status: 503})
	wantStatus(t, r.post("/packages/add", object{"name": "N", "type": "concurrent", "state": "draft"}), 503)
	if got := len(r.s.Packages()); got != 0 {
		t.Errorf("%d packages", got)
	}
	r.s.Heal(id)
	r.s.Heal(0)
	fine()
}

func TestDroppedAndLostAnswers(t *testing.T) {
	r := signedIn(t, Options{})
	add := func() error {
		req, _ := http.NewRequest("POST", r.s.URL()+"/packages/add", strings.NewReader(`{"name":"N","type":"concurrent","state":"draft"}`))
		req.Header.Set("Authorization", "Bearer "+r.token)
		resp, err := r.http.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	r.s.Inject(Fault{Path: "/packages/add", Times: 1, Drop: true})
	if err := add(); err == nil || len(r.s.Packages()) != 0 {
		t.Errorf("dropped: %v, %d packages", err, len(r.s.Packages()))
	}
	r.s.Inject(Fault{Path: "/packages/add", Times: 1, LoseAnswer: true})
	if err := add(); err == nil || len(r.s.Packages()) != 1 {
		t.Errorf("lost: %v, %d packages", err, len(r.s.Packages()))
	}
	r.s.Inject(Fault{Path: "/packages/add", Times: 1, AfterWork: true, Status: 307, Headers: map[string]string{"Location": "/packages/add"}})
	if err := add(); err != nil || len(r.s.Packages()) != 2 {
		t.Errorf("redirected: %v, %d packages", err, len(r.s.Packages()))
	}
	requests, counts := r.s.Requests()
	if last := requests[len(requests)-1]; last.Status != 307 || last.Fault != 3 || counts["POST /packages/add"] != 3 {
		t.Errorf("log %+v, counts %v", last, counts)
	}
}

func TestAdminPortIsForProgramsOnThisMachine(t *testing.T) {
	r := start(t, Options{AdminListen: "127.0.0.1:0"})
	wantStatus(t, r.do("GET", r.s.AdminURL()+"/events", "", nil, "Origin", "https://evil.example"), 403)
	req, _ := http.NewRequest("GET", r.s.AdminURL()+"/events", nil)
	req.Host = "rebound.example"
	resp, err := r.http.Do(req)
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Errorf("another host name: %d", resp.StatusCode)
	}
	if s, err := Start(Options{AdminListen: "0.0.0.0:0"}); err == nil {
		_ = s.Close()
		t.Error("the admin port is open to others")
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, o := range []Options{
		{OnlyAPIPrefix: true, NoAPIPrefix: true},
		{Clients: []Client{{}}},
		{Clients: []Client{{ID: "c", Redirects: []string{"http://office.example/"}}}},
		{Users: []User{{}}},
		{Listen: "nowhere:x"},
	} {
		if s, err := Start(o); err == nil {
			_ = s.Close()
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestDownloadsThatEndInTheMiddle(t *testing.T) {
	r := signedIn(t, Options{})
	p := r.add("concurrent", 1, "Ana")
	must(t, r.s.SignAll(p.PackageID))
	path := "/api/v1/packages/" + p.PackageID + "/documents/" + p.Documents[0].DocumentID + "/pdf/executed/download"
	whole := r.get(path)
	n := len(whole.body)
	for _, tt := range []struct {
		name    string
		fault   Fault
		want    int
		length  int64
		chunked bool
		closes  bool
	}{
		{"as it is framed", Fault{EndAfter: 500}, 500, 500, false, false},
		{"with a length", Fault{EndAfter: -10, Framing: FramingLength}, n - 10, int64(n - 10), false, false},
		{"in chunks", Fault{EndAfter: 500, Framing: FramingChunks}, 500, -1, true, false},
		{"by closing", Fault{EndAfter: 500, Framing: FramingClose}, 500, -1, false, true},
		{"whole, by closing", Fault{Framing: FramingClose}, n, -1, false, true},
		{"past the end", Fault{EndAfter: int64(n) + 1}, n, int64(n), false, false},
		{"before the beginning", Fault{EndAfter: -int64(n) - 1, Framing: FramingChunks}, 0, -1, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.fault.Path, tt.fault.Times = "*/executed/download", 1
			r.s.Inject(tt.fault)
			a := r.get(path, "Accept-Encoding", "identity")
			wantStatus(t, a, http.StatusOK)
			if string(a.body) != string(whole.body[:tt.want]) || a.ContentLength != tt.length || slices.Contains(a.TransferEncoding, "chunked") != tt.chunked || a.Close != tt.closes {
				t.Errorf("%d bytes, length %d, encoding %v, closes %t", len(a.body), a.ContentLength, a.TransferEncoding, a.Close)
			}
		})
	}
	if a := r.get(path); string(a.body) != string(whole.body) {
		t.Errorf("afterwards: %d bytes", len(a.body))
	}
}
