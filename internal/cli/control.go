package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/single"
)

// A call is a question that commands ask an office: in this process, or through the control socket in the running instance.
// The socket speaks HTTP with JSON bodies; an answer is one message per line, the last of which has Done set.
type call[Q, A any] struct {
	name string
	// do may report partial answers through tell before it returns the final one.
	do func(l *local, ctx context.Context, question Q, tell func(A) error) (A, error)
}

// The calls. Those with alsoBrief are also answered by a one-shot command while it holds the data folder.
var (
	callHello   = declare("hello", alsoBrief, (*local).hello)
	callStatus  = declare("status", alsoBrief, func(l *local, _ context.Context, _ nothing) (agent.Status, error) { return l.agent.Status() })
	callList    = declare("list", alsoBrief, (*local).list)
	callShow    = declare("package", alsoBrief, (*local).shown)
	callEvents  = declare("events", alsoBrief, (*local).events)
	callLink    = declare("link", alsoBrief, (*local).link)
	callVerify  = declareNews("verify", alsoBrief, (*local).verify)
	callRecord  = declare("record", alsoBrief, (*local).record)
	callTrust   = declare("trust", alsoBrief, (*local).trust)
	callProve   = declare("prove", alsoBrief, (*local).prove)
	callSetup   = declare("configure", running, (*local).configure)
	callExport  = declare("office", running, (*local).export)
	callFolders = declare("folders", running, (*local).folders)
	callPaste   = declare("paste", running, func(l *local, _ context.Context, address string) (nothing, error) {
		return nothing{}, l.agent.Paste(address)
	})
	callSignOut = declare("logout", running, func(l *local, ctx context.Context, _ nothing) (nothing, error) {
		return nothing{}, l.agent.SignOut(ctx)
	})
	callWithdraw = declare("withdraw", running, (*local).withdraw)
	callUpdate   = declare("update", running, (*local).checkUpdate)
	callMove     = declare("move", running, (*local).move)
	callWindow   = declare("show", running, (*local).show)
	callQuit     = declare("quit", running, func(l *local, _ context.Context, _ nothing) (nothing, error) { l.quit(); return nothing{}, nil })

	callTemplates = declare("templates", running, func(l *local, ctx context.Context, search string) ([]office.Template, error) {
		return l.agent.Templates(ctx, search)
	})

	callSignIn = declareNews("login", running, (*local).signIn)
	callSend   = declareNews("send", running, (*local).send)

	callSendList = declareNews("send-list", running, (*local).sendList)
	callLists    = declare("lists", running, (*local).bulkLists)
	callFollow   = declareNews("follow", running, (*local).follow)
)

const (
	running   = false
	alsoBrief = true
)

// nothing is an empty question or answer.
type nothing struct{}

// served are the calls in the form in which the control socket serves them.
var served []answerer

type answerer struct {
	name      string
	alsoBrief bool
	handler   func(*local) http.HandlerFunc
}

func declare[Q, A any](name string, alsoBrief bool, do func(*local, context.Context, Q) (A, error)) call[Q, A] {
	return declareNews(name, alsoBrief, func(l *local, ctx context.Context, q Q, _ func(A) error) (A, error) { return do(l, ctx, q) })
}

func declareNews[Q, A any](name string, alsoBrief bool, do func(*local, context.Context, Q, func(A) error) (A, error)) call[Q, A] {
	c := call[Q, A]{name, do}
	served = append(served, answerer{name, alsoBrief, c.handler})
	return c
}

func (l *local) handler() http.Handler {
	mux := http.NewServeMux()
	for _, s := range served {
		if s.alsoBrief || !l.brief {
			mux.HandleFunc("POST /"+s.name, s.handler(l))
		}
	}
	return mux
}

type answerLine[A any] struct {
	Done   bool   `json:"done,omitempty"`
	Error  string `json:"error,omitempty"` // one sentence
	Answer A      `json:"answer"`
}

// handler answers a request, at the longest until the office ends. A panic ends only the request (net/http).
func (c call[Q, A]) handler(l *local) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, "unreadable request", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(l.ending, cancel)()
		out := &lines{encoder: json.NewEncoder(w), flusher: http.NewResponseController(w)}
		defer out.end()
		a, err := c.do(l, ctx, q, func(a A) error { return out.put(answerLine[A]{Answer: a}, false) })
		if err != nil && l.ending.Err() != nil && said(err) == message.Unexpected().String() {
			return // the client knows what it means for its command that Countersign ended
		}
		_ = out.put(answerLine[A]{Done: true, Error: said(err), Answer: a}, true) // the client may be gone
	}
}

// lines writes an answer. Goroutines started by a call may outlive it: what they report afterwards is dropped.
type lines struct {
	mu      sync.Mutex
	over    bool
	encoder *json.Encoder
	flusher *http.ResponseController
}

// readPatience is how long an answer waits for a client that does not read. Then it ends; events --follow reconnects.
const readPatience = time.Minute

func (l *lines) put(line any, last bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil
	}
	l.over = last
	return errors.Join(l.flusher.SetWriteDeadline(time.Now().Add(readPatience)), l.encoder.Encode(line), l.flusher.Flush())
}

func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// of asks an office a question.
func (c call[Q, A]) of(ctx context.Context, o *instance, q Q) (A, error) {
	return c.news(ctx, o, q, func(A) error { return nil })
}

// alone opens the office with one component of the agent, for a single question.
func (c call[Q, A]) alone(r *run, part agent.Component, q Q) (a A, err error) {
	o, err := r.office(part)
	if err != nil {
		return a, err
	}
	defer o.Close()
	return c.of(r.ctx, o, q)
}

// news asks an office a question and passes partial answers to each. An error of each aborts it. With an error, the returned
// answer is the last one received.
func (c call[Q, A]) news(ctx context.Context, o *instance, q Q, each func(A) error) (a A, err error) {
	if o.here != nil {
		return c.do(o.here, ctx, q, each)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://countersign/"+c.name, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	resp, err := o.socket.Do(req)
	if err != nil {
		return a, unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return a, &failure{"The running Countersign is of another version and does not know this command. End it and start it again."}
	}
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("the running instance answered %s", resp.Status)
	}
	for lines := json.NewDecoder(resp.Body); ; {
		var m answerLine[A]
		if err := lines.Decode(&m); err != nil {
			return a, unreachable(ctx, err)
		}
		a = m.Answer
		if m.Error != "" {
			return a, &failure{m.Error}
		}
		if m.Done {
			return a, nil
		}
		if err := each(a); err != nil {
			return a, err
		}
	}
}

func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, single.ErrNotRunning) {
		return err
	}
	return errSilent
}

// errSilent means that a running instance was reached but gave no answer, or an incomplete one.
var errSilent = &failure{"The running Countersign did not answer. End it and try again."}
