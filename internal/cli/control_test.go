package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/secret"
)

type asked struct{}

// messages are the lines of an answer.
func messages(t *testing.T, body io.Reader) (all []reply) {
	t.Helper()
	for d := json.NewDecoder(body); ; {
		var m reply
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

// An upload may report its progress a moment after its Send has returned.
func TestProgressAfterTheEndHarmsNothing(t *testing.T) {
	var late func(reply)
	s := httptest.NewServer(answer(t.Context(), func(_ context.Context, _ asked, tell func(reply)) (reply, error) {
		late = tell
		tell(reply{State: &office.SendState{Sent: 1}})
		return reply{State: &office.SendState{Sent: 2}}, nil
	}))
	defer s.Close()
	resp, err := s.Client().Post(s.URL, "", strings.NewReader("{}"))
	must(t, err)
	defer resp.Body.Close()
	all := messages(t, resp.Body)
	for range 100 {
		late(reply{})
	}
	if len(all) != 2 || all[0].Done || all[0].State.Sent != 1 || !all[1].Done || all[1].State.Sent != 2 {
		t.Errorf("the answer was %+v", all)
	}
}

func TestProgressFromManyEndsWithTheAnswer(t *testing.T) {
	var still sync.WaitGroup
	s := httptest.NewServer(answer(t.Context(), func(ctx context.Context, _ asked, tell func(reply)) (reply, error) {
		for range 4 {
			still.Go(func() {
				for ctx.Err() == nil { // beyond the end of the answer
					tell(reply{Address: "https://sign.example.com"})
				}
			})
		}
		return reply{}, nil
	}))
	defer s.Close()
	for range 20 {
		resp, err := s.Client().Post(s.URL, "", strings.NewReader("{}"))
		must(t, err)
		all := messages(t, resp.Body)
		resp.Body.Close()
		for i, m := range all {
			if last := i == len(all)-1; m.Done != last {
				t.Fatalf("message %d of %d is %+v", i, len(all), m)
			}
		}
		if len(all) == 0 {
			t.Fatal("no answer")
		}
	}
	still.Wait()
}

func TestAPanicEndsItsRequestAlone(t *testing.T) {
	s := httptest.NewUnstartedServer(answer(t.Context(), func(context.Context, asked, func(reply)) (reply, error) {
		panic("a fault")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	defer s.Close()
	for range 2 {
		resp, err := s.Client().Post(s.URL, "", strings.NewReader("{}"))
		if err == nil {
			resp.Body.Close()
			t.Error("a request that panicked was answered")
		}
	}
}

func TestAStatusThatCannotBeReadIsAFailureAndNotZeros(t *testing.T) {
	a, err := agent.Open(t.Context(), agent.Params{DataDir: t.TempDir(), Keeper: secret.Memory(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil { // nothing can be read from here on
		t.Fatal(err)
	}
	s := httptest.NewServer((&controller{agent: a, ending: t.Context()}).handler())
	defer s.Close()
	client := s.Client()
	client.Transport = rewritten{client.Transport, s.Listener.Addr().String()}
	_, err = (&remote{client}).Status(t.Context())
	if want := message.Closing().String(); err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// rewritten sends every request to one server.
type rewritten struct {
	http.RoundTripper
	host string
}

func (r rewritten) RoundTrip(req *http.Request) (*http.Response, error) {
	req.URL.Host = r.host
	return r.RoundTripper.RoundTrip(req)
}
