package sandbox

import (
	"errors"
	"io"
	"net/http"
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
	requests := r.s.Requests()
	if last := requests[len(requests)-1]; last.Status != 0 || last.Route != "POST /packages/add" {
		t.Errorf("log %+v", last)
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
