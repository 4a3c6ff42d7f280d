package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// The control socket speaks HTTP with JSON bodies: one path per method of office. What takes time answers with one
// JSON message per line, the last of which has Done set.
const (
	pathHello     = "/hello"
	pathStatus    = "/status"
	pathConfigure = "/configure"
	pathOffice    = "/office"
	pathSignIn    = "/login"
	pathPaste     = "/paste"
	pathSignOut   = "/logout"
	pathSend      = "/send"
	pathLink      = "/link"
	pathList      = "/list"
	pathPackage   = "/package"
	pathEvents    = "/events"
	pathFollow    = "/follow"
	pathOffers    = "/offers"
	pathWithdraw  = "/withdraw"
	pathShow      = "/show"
	pathTemplates = "/templates"
	pathUpdate    = "/update"
	pathMove      = "/move"
	pathQuit      = "/quit"
)

// reply is one line of an answer.
type reply struct {
	Done     bool                  `json:"done,omitempty"`
	Error    string                `json:"error,omitempty"` // one sentence
	Folders  []office.HotFolderRow `json:"folders,omitempty"`
	Address  string                `json:"address,omitempty"`
	State    *office.SendState     `json:"state,omitempty"`
	Settings *office.Settings      `json:"settings,omitempty"`
	Office   *agent.OfficeFile     `json:"office,omitempty"`

	Templates []office.Template  `json:"templates,omitempty"`
	Packages  []listedPackage    `json:"packages,omitempty"`
	Package   *shownPackage      `json:"package,omitempty"`
	Events    []listedEvent      `json:"events,omitempty"`
	Offers    []candidate        `json:"offers,omitempty"`
	Withdrawn []office.Withdrawn `json:"withdrawn,omitempty"`
	Update    *office.Update     `json:"update,omitempty"`
	Move      *agent.Arrival     `json:"move,omitempty"`
}

// hello is what an instance says of itself.
type hello struct {
	Brief bool `json:"brief"` // a command with the data folder to itself, done in a moment: come again then
}

type pasteRequest struct {
	Address string `json:"address"`
}

type templatesRequest struct {
	Search string `json:"search,omitempty"`
}

type packageRequest struct {
	Package string `json:"package"` // its id, the beginning of its id, or its name
}

type showRequest struct {
	Files []string `json:"files,omitempty"`
}

// controller is the office in this process, and its side of the control socket.
type controller struct {
	agent *agent.Agent
	show  func(files []string)
	quit  func()
	brief bool // this is a single command, which does nothing for others

	ending context.Context // done when the agent is about to stop, and so are the requests under way
}

func (c *controller) Status(context.Context) (agent.Status, error) { return c.agent.Status() }

func (c *controller) Configure(ctx context.Context, change settingsChange) (office.Settings, error) {
	return c.agent.Change(ctx, change.apply, change.Secrets)
}

// Office is the office's file, with the change in it, and with the client secret only where that is asked for.
func (c *controller) Office(_ context.Context, change settingsChange) (agent.OfficeFile, error) {
	s := change.apply(c.agent.Settings())
	if !change.Setup.WithSecret {
		return agent.OfficeFile{Settings: s}, nil
	}
	return c.agent.Office(s)
}

func (c *controller) SignIn(ctx context.Context, o agent.SignInOptions, open func(string) error) error {
	return c.agent.SignIn(ctx, o, open)
}

func (c *controller) Paste(_ context.Context, address string) error { return c.agent.Paste(address) }

func (c *controller) SignOut(ctx context.Context) error { return c.agent.SignOut(ctx) }

func (c *controller) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (office.SendState, error) {
	state, err := c.agent.Send(ctx, d, progress)
	if errors.Is(err, context.Canceled) && state.DraftID != "" { // kept, and sent later: sending it again would make two
		err = &agent.DraftError{Text: message.WaitingStopped()}
	}
	return state, err
}

func (c *controller) SignPage(ctx context.Context, q linkRequest) (address string, err error) {
	id, err := c.find(q.Package)
	if err != nil {
		return "", err
	}
	return c.agent.SignerPage(ctx, id, q.Person)
}

func (c *controller) Templates(ctx context.Context, search string) ([]office.Template, error) {
	return c.agent.Templates(ctx, search)
}

// handler serves the control socket.
func (c *controller) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathHello, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(hello{Brief: c.brief})
	})
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		s, err := c.agent.Status()
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			json.NewEncoder(w).Encode(reply{Error: agent.Message(err).String()})
			return
		}
		json.NewEncoder(w).Encode(s)
	})
	mux.HandleFunc("POST "+pathList, answer(c.ending, func(ctx context.Context, q office.Query, _ func(reply)) (reply, error) {
		list, err := c.List(ctx, q)
		return reply{Packages: list}, err
	}))
	mux.HandleFunc("POST "+pathPackage, answer(c.ending, func(ctx context.Context, q packageRequest, _ func(reply)) (reply, error) {
		p, err := c.Show(ctx, q.Package)
		return reply{Package: &p}, err
	}))
	mux.HandleFunc("POST "+pathEvents, answer(c.ending, func(ctx context.Context, q eventsRequest, _ func(reply)) (reply, error) {
		list, err := c.Events(ctx, q)
		return reply{Events: list}, err
	}))
	if c.brief {
		return mux
	}
	mux.HandleFunc("POST "+pathFollow, c.serveFollow)
	mux.HandleFunc("POST "+pathOffers, answer(c.ending, func(_ context.Context, q offersRequest, _ func(reply)) (reply, error) {
		list, err := c.Offers(q.Kind)
		return reply{Offers: list}, err
	}))
	mux.HandleFunc("POST "+pathFolders, answer(c.ending, func(ctx context.Context, q foldersRequest, _ func(reply)) (reply, error) {
		rows, err := c.Folders(ctx, q)
		return reply{Folders: rows}, err
	}))
	mux.HandleFunc("POST "+pathConfigure, answer(c.ending, func(ctx context.Context, change settingsChange, _ func(reply)) (reply, error) {
		s, err := c.Configure(ctx, change)
		return reply{Settings: &s}, err
	}))
	mux.HandleFunc("POST "+pathOffice, answer(c.ending, func(ctx context.Context, change settingsChange, _ func(reply)) (reply, error) {
		file, err := c.Office(ctx, change)
		return reply{Office: &file}, err
	}))
	mux.HandleFunc("POST "+pathSignIn, answer(c.ending, func(ctx context.Context, o agent.SignInOptions, tell func(reply)) (reply, error) {
		return reply{}, c.SignIn(ctx, o, func(address string) error {
			tell(reply{Address: address})
			return nil
		})
	}))
	mux.HandleFunc("POST "+pathPaste, answer(c.ending, func(ctx context.Context, p pasteRequest, _ func(reply)) (reply, error) {
		return reply{}, c.Paste(ctx, p.Address)
	}))
	mux.HandleFunc("POST "+pathSignOut, answer(c.ending, func(ctx context.Context, _ struct{}, _ func(reply)) (reply, error) {
		return reply{}, c.SignOut(ctx)
	}))
	mux.HandleFunc("POST "+pathSend, answer(c.ending, func(ctx context.Context, d office.NewPackage, tell func(reply)) (reply, error) {
		state, err := c.Send(ctx, d, func(s office.SendState) { tell(reply{State: &s}) })
		return reply{State: &state}, err
	}))
	mux.HandleFunc("POST "+pathLink, answer(c.ending, func(ctx context.Context, q linkRequest, _ func(reply)) (reply, error) {
		address, err := c.SignPage(ctx, q)
		return reply{Address: address}, err
	}))
	mux.HandleFunc("POST "+pathTemplates, answer(c.ending, func(ctx context.Context, q templatesRequest, _ func(reply)) (reply, error) {
		list, err := c.Templates(ctx, q.Search)
		return reply{Templates: list}, err
	}))
	mux.HandleFunc("POST "+pathWithdraw, answer(c.ending, func(ctx context.Context, n office.NewWithdrawal, _ func(reply)) (reply, error) {
		list, err := c.Withdraw(ctx, n)
		return reply{Withdrawn: list}, err
	}))
	mux.HandleFunc("POST "+pathUpdate, answer(c.ending, func(ctx context.Context, q updateRequest, _ func(reply)) (reply, error) {
		u, err := c.CheckUpdate(ctx, q)
		return reply{Update: &u}, err
	}))
	mux.HandleFunc("POST "+pathMove, answer(c.ending, func(ctx context.Context, m moveRequest, _ func(reply)) (reply, error) {
		shown, err := c.Move(ctx, m)
		return reply{Move: &shown}, err
	}))
	mux.HandleFunc("POST "+pathShow, answer(c.ending, func(_ context.Context, s showRequest, _ func(reply)) (reply, error) {
		c.show(s.Files)
		return reply{}, nil
	}))
	mux.HandleFunc("POST "+pathQuit, answer(c.ending, func(context.Context, struct{}, func(reply)) (reply, error) {
		c.quit()
		return reply{}, nil
	}))
	return mux
}

// answer reads the request, runs do, until ending at most, and writes its messages as they come, and what do returns as
// the last one. Only one goroutine writes at a time. do may be survived by what it has started: what is told after its end
// goes nowhere. Its panic ends the request alone (net/http).
func answer[T any](ending context.Context, do func(ctx context.Context, request T, tell func(reply)) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request T
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, "unreadable request", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ending, cancel)()
		lines := newLines(w)
		defer lines.end()
		m, err := do(ctx, request, lines.tell)
		lines.end()
		m.Done, m.Error = true, said(err)
		lines.encoder.Encode(m)
	}
}

// lines writes messages on a goroutine of its own, so that a slow reader holds up nobody.
type lines struct {
	encoder *json.Encoder
	flusher *http.ResponseController
	news    chan reply // never closed, because nobody knows when the last one tells
	over    context.CancelFunc
	written chan struct{} // closed when the goroutine is gone
}

func newLines(w http.ResponseWriter) *lines {
	l := &lines{
		encoder: json.NewEncoder(w), flusher: http.NewResponseController(w),
		news: make(chan reply, 64), written: make(chan struct{}),
	}
	ctx, over := context.WithCancel(context.Background())
	l.over = over
	go l.write(ctx.Done())
	return l
}

// tell hands m over. It never blocks: progress is news, not a record, and what nobody takes is superseded.
func (l *lines) tell(m reply) {
	select {
	case l.news <- m:
	default:
	}
}

// end returns when what was told so far is written, as far as anybody reads it. It may be called more than once.
func (l *lines) end() {
	l.over()
	<-l.written
}

func (l *lines) write(over <-chan struct{}) {
	defer close(l.written)
	for {
		select {
		case m := <-l.news:
			if !l.put(m) {
				return
			}
		case <-over:
			for range len(l.news) {
				if !l.put(<-l.news) {
					return
				}
			}
			return
		}
	}
}

func (l *lines) put(m reply) bool { return l.encoder.Encode(m) == nil && l.flusher.Flush() == nil }
