package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/secret"
)

// asked serves a call; ask calls it.
func asked(t *testing.T, do func(ctx context.Context, tell func(int) error) (int, error)) (s *httptest.Server, ask func() []answerLine[int]) {
	t.Helper()
	c := call[nothing, int]{do: func(_ *local, ctx context.Context, _ nothing, tell func(int) error) (int, error) {
		return do(ctx, tell)
	}}
	s = httptest.NewUnstartedServer(c.handler(&local{ending: t.Context()}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s, func() (all []answerLine[int]) {
		t.Helper()
		resp := must(s.Client().Post(s.URL, "", strings.NewReader("{}")))
		defer resp.Body.Close()
		for d := json.NewDecoder(resp.Body); ; {
			var m answerLine[int]
			switch err := d.Decode(&m); {
			case errors.Is(err, io.EOF):
				return all
			case err != nil:
				t.Fatal(err)
			}
			all = append(all, m)
		}
	}
}

// An upload may report its progress a moment after its Send has returned.
func TestProgressAfterTheEndHarmsNothing(t *testing.T) {
	var late func(int) error
	_, ask := asked(t, func(_ context.Context, tell func(int) error) (int, error) {
		late = tell
		noErr(t, tell(1))
		return 2, nil
	})
	all := ask()
	for range 100 {
		_ = late(3)
	}
	if len(all) != 2 || all[0].Done || all[0].Answer != 1 || !all[1].Done || all[1].Answer != 2 {
		t.Errorf("the answer was %+v", all)
	}
}

func TestProgressFromManyEndsWithTheAnswer(t *testing.T) {
	var still sync.WaitGroup
	_, ask := asked(t, func(ctx context.Context, tell func(int) error) (int, error) {
		for range 4 {
			still.Go(func() {
				for ctx.Err() == nil { // even after the end of the answer
					_ = tell(1)
				}
			})
		}
		return 2, nil
	})
	for range 20 {
		all := ask()
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

// piped is an answer that is written to a pipe.
type piped struct {
	http.ResponseWriter
	net.Conn
}

func (p piped) Write(b []byte) (int, error) { return p.Conn.Write(b) }
func (p piped) FlushError() error           { return nil }

func TestAnAnswerThatNobodyReadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, far := net.Pipe()
		c := call[nothing, int]{do: func(_ *local, _ context.Context, _ nothing, tell func(int) error) (int, error) {
			start := time.Now()
			if err := tell(1); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != readPatience {
				t.Errorf("%v after %v", err, time.Since(start))
			}
			far.Close()
			return 0, nil
		}}
		c.handler(&local{ending: t.Context()})(piped{httptest.NewRecorder(), far}, httptest.NewRequest("POST", "/", strings.NewReader("{}")))
	})
}

func TestAPanicEndsItsRequestAlone(t *testing.T) {
	s, _ := asked(t, func(context.Context, func(int) error) (int, error) { panic("a fault") })
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
	if err := a.Close(); err != nil { // the data folder cannot be used any more
		t.Fatal(err)
	}
	s := httptest.NewServer((&local{agent: a, ending: t.Context()}).handler())
	defer s.Close()
	client := s.Client()
	client.Transport = rewritten{client.Transport, s.Listener.Addr().String()}
	_, err = callStatus.of(t.Context(), &instance{socket: client}, nothing{})
	if want := message.Closing().String(); err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestWhatFailsUnexpectedlyAsTheProgramEndsIsNoAnswer(t *testing.T) {
	ending, end := context.WithCancel(t.Context())
	fails := declare("fails", false, func(*local, context.Context, nothing) (nothing, error) {
		end()
		return nothing{}, errors.New("the store is closed")
	})
	s := httptest.NewServer((&local{ending: ending}).handler())
	defer s.Close()
	client := s.Client()
	client.Transport = rewritten{client.Transport, s.Listener.Addr().String()}
	if _, err := fails.of(t.Context(), &instance{socket: client}, nothing{}); !errors.Is(err, errSilent) {
		t.Errorf("%v", err)
	}
}

// rewritten sends every request to the same server.
type rewritten struct {
	http.RoundTripper
	host string
}

func (r rewritten) RoundTrip(req *http.Request) (*http.Response, error) {
	req.URL.Host = r.host
	return r.RoundTripper.RoundTrip(req)
}

// unread is output that nobody reads: a file, such as a panel's log. On Windows, where a GUI program has no output, it is
// closed.
func unread(t *testing.T) *os.File {
	t.Helper()
	f := must(os.Create(filepath.Join(t.TempDir(), "printed")))
	t.Cleanup(func() { f.Close() })
	if runtime.GOOS == "windows" {
		f.Close()
	}
	return f
}

// start opens the window as if the desktop had started the program, and returns the texts of the message boxes.
func start(t *testing.T, data string, p Program) (code int, boxes []message.Message) {
	t.Helper()
	p.Version, p.Stdin, p.Stdout, p.Stderr = "test", strings.NewReader(""), unread(t), unread(t)
	p.Display = func(context.Context) error { return nil }
	p.Alert = func(m message.Message) bool { boxes = append(boxes, m); return true }
	code = Main([]string{"--data", data, "--key-file", filepath.Join(t.TempDir(), "key")}, p)
	return code, boxes
}

func TestAFaultOfTheProgramsOwnIsToldAndKeptInTheLog(t *testing.T) {
	data := t.TempDir()
	code, boxes := start(t, data, Program{Window: func(context.Context, Window) error { panic("a sad accident") }})
	if code != exitFailed || len(boxes) != 1 || boxes[0] != message.StartCrashed(locations.Log(data)) {
		t.Errorf("it ended with %d and said %v", code, boxes)
	}
	log := must(os.ReadFile(locations.Log(data)))
	if !strings.Contains(string(log), "a sad accident") || !strings.Contains(string(log), "control_test.go") {
		t.Errorf("the log has %q", log)
	}
}

func TestAnErrorWithoutWordsLeadsToTheLog(t *testing.T) {
	data := t.TempDir()
	code, boxes := start(t, data, Program{Window: func(context.Context, Window) error { return errors.New("0x80004005") }})
	if code != exitFailed || len(boxes) != 1 || boxes[0] != message.StartFailed(locations.Log(data)) {
		t.Errorf("it ended with %d and said %v", code, boxes)
	}
}

func TestCommandsRaiseNoBoxes(t *testing.T) {
	p := Program{Version: "test", Stdin: strings.NewReader(""), Stdout: unread(t), Stderr: unread(t)}
	p.Alert = func(m message.Message) bool { t.Errorf("a box says %q", m); return true }
	if code := Main([]string{"login", "--no-browser", "--data", t.TempDir(), "--key-file", filepath.Join(t.TempDir(), "key")}, p); code != exitFailed {
		t.Errorf("it ended with %d", code)
	}
}

func TestAFaultThatEndedTheProgramIsToldOnceByTheNextStart(t *testing.T) {
	s := newShell(t)
	s.setUp()
	if _, err := os.Stat(locations.Trace(s.data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a trace is left though nothing happened: %v", err)
	}
	noErr(t, os.WriteFile(locations.Trace(s.data), []byte("panic: index out of range\n\ngoroutine 7 [running]:\n"), 0o600))
	s.status()
	s.status()
	if _, err := os.Stat(locations.Trace(s.data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the trace stays: %v", err)
	}
	log, err := os.ReadFile(locations.Log(s.data))
	if err != nil || strings.Count(string(log), "goroutine 7") != 1 {
		t.Errorf("the log: %s, %v", log, err)
	}
	a := must(agent.Open(t.Context(), agent.Params{DataDir: s.data, Keeper: secret.File(s.data + ".key")}))
	defer a.Close()
	var told int
	lines := must(a.Activity(100))
	for _, line := range lines {
		if line.Text == message.EndedByFault(locations.Log(s.data)) {
			told++
		}
	}
	expect(t, told, 1, "told %d times: %+v", lines)
}

func TestTheTraceOfAFaultStaysWhenTheProgramHappensToEndAtTheSameTime(t *testing.T) {
	data := t.TempDir()
	noErr(t, os.MkdirAll(filepath.Dir(locations.Trace(data)), 0o700))
	kept, _ := keepTrace(data, slog.New(slog.DiscardHandler))
	noErr(t, os.WriteFile(locations.Trace(data), []byte("panic: "), 0o600))
	noErr(t, kept.Close())
	if said, err := os.ReadFile(locations.Trace(data)); string(said) != "panic: " {
		t.Errorf("it is %q, %v", said, err)
	}
}
