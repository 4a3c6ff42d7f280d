package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/demo"
	"countersign/internal/message"
	"countersign/internal/notify"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

type demoCmd struct {
	Headless bool   `help:"Without a window: print what happens."`
	Dir      string `help:"Folder for the signed documents; a new one by default." type:"path" placeholder:"DIR"`
}

func (c *demoCmd) Run(r *run) error {
	if c.Dir == "" {
		dir, err := os.MkdirTemp("", "countersign-signed-")
		if err != nil {
			return message.Error(message.DemoFolderNotMade(), err)
		}
		c.Dir = dir
	}
	if c.Headless {
		return c.headless(r)
	}
	if r.program.Window == nil {
		_ = r.out.Line("This Countersign has no window, so the demo runs as text.")
		return c.headless(r)
	}
	if err := r.program.Display(r.ctx); err != nil {
		_ = r.out.Line("There is no display here, so the demo runs as text.")
		return c.headless(r)
	}
	r.windowed = true
	a, end, err := r.startDemo(r.ctx, c.Dir)
	if err != nil {
		return err
	}
	r.console.detach()
	ending := newEnding(end, demoLog(r), r.err)
	defer ending.end() // also after a panic
	defer context.AfterFunc(r.ctx, ending.begin)()
	err = r.program.Window(r.ctx, Window{Agent: a, Version: r.program.Version, Demo: true, Ending: ending.begin})
	if err != nil && errors.Is(err, r.program.CannotDraw) {
		return c.without(r, ending, err)
	}
	_ = r.out.Line("The signed documents are in %s.", c.Dir)
	return errors.Join(err, ending.end())
}

// without shows the demo as text if its window cannot be drawn.
func (c *demoCmd) without(r *run, ending *ending, cannot error) error {
	if err := ending.end(); err != nil {
		return err
	}
	told := message.Error(message.Then(message.NoOpenGL(), message.OpenGLHelps()), cannot)
	if !r.console.read() {
		return told
	}
	_ = r.out.Line("This screen has no OpenGL for the window, so the demo runs as text.")
	return c.headless(r)
}

// headless plays the demo and prints a timeline.
func (c *demoCmd) headless(r *run) error {
	story := &timeline{w: r.out, began: time.Now()}
	notifier := notify.New(notify.Options{App: "Countersign demo", Icon: icon(), Log: demoLog(r)})
	story.line("Starting the signing service inside this program and an agent beside it.")
	d, err := demo.Start(r.ctx, demo.Options{
		Folder: c.Dir, Version: r.program.Version, Pace: 400 * time.Millisecond, Log: demoLog(r),
		Step: func(a office.Activity) { story.line("%s", a.Text) },
		Notify: func(n office.Notice) error {
			story.line("  Notification: %s %s", n.Title, n.Body)
			return notifier.Notify(n)
		},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, time.Minute, &failure{"The demo did not finish within a minute."})
	defer cancel()
	err = errors.Join(d.Play(ctx), d.Close())
	if err != nil {
		return err
	}
	return story.end(c.Dir)
}

func demoLog(r *run) *slog.Logger {
	if !r.global.Debug {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(r.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// timeline prints what happens, with seconds since the start. Safe for concurrent use.
type timeline struct {
	w     *terminal.Writer
	began time.Time
}

func (t *timeline) line(format string, args ...any) {
	_ = t.w.Line("%5.1f s  %s", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

func (t *timeline) end(dir string) error {
	t.line("Done. The documents are in %s:", dir)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return t.w.Line("         %s (%d KB)", rel, (info.Size()+1023)/1024)
	})
}

// tryDemo starts the demo beside the office, for a window in which nothing is set up yet. stop ends it and waits; the
// documents it saved stay in a folder for temporary files.
func (r *run) tryDemo(ctx context.Context) (a *agent.Agent, stop func(), err error) {
	a, end, err := r.startDemo(ctx, filepath.Join(os.TempDir(), "Countersign demo"))
	if err != nil {
		return nil, nil, err
	}
	return a, func() {
		if err := end(); err != nil {
			fail(r.err, err)
		}
	}, nil
}

// startDemo starts the demo for a window and plays it. end stops it and waits; the documents in folder stay.
func (r *run) startDemo(ctx context.Context, folder string) (a *agent.Agent, end func() error, err error) {
	shown := filepath.Join(os.TempDir(), "countersign-demo.png") // outlives the demo's folder
	notifier := notify.New(notify.Options{App: "Countersign demo", Icon: icon(), IconFile: shown, Log: demoLog(r)})
	d, err := demo.Start(ctx, demo.Options{
		Folder: folder, Version: r.program.Version, Pace: 3 * time.Second, ByHand: true, Log: demoLog(r),
		Notify: notifier.Notify, Windowed: true, OpenSaved: r.program.OpenSaved,
		Words: ofWindow(r, r.program.Words), Language: ofWindow(r, r.program.Language), DocumentReader: documentReader(), Press: documentPress(),
	})
	if err != nil {
		return nil, nil, errors.Join(err, notifier.Close())
	}
	notifier.OnClick(d.Agent.Click)
	playing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var plays sync.WaitGroup
	plays.Go(func() {
		if err := d.Play(playing); err != nil && playing.Err() == nil {
			fail(r.err, fmt.Errorf("play the demo: %w", err))
		}
	})
	return d.Agent, func() error {
		cancel()
		plays.Wait()
		return errors.Join(d.Close(), notifier.Close())
	}, nil
}

type sandboxCmd struct {
	Listen          string            `help:"Where to listen." default:"127.0.0.1:8443" placeholder:"HOST:PORT"`
	Admin           string            `help:"Where the admin port listens; none by default." placeholder:"HOST:PORT"`
	Dir             string            `help:"Keep the state in this folder; it survives a restart." type:"path" placeholder:"DIR"`
	Address         string            `help:"The address others see, when it is not the one listened on." placeholder:"URL"`
	ClientID        string            `name:"oauth-client" help:"OAuth client id; its secret is read from COUNTERSIGN_CLIENT_SECRET." placeholder:"ID"`
	Redirect        []string          `help:"A return address registered for the client; repeat it for more." sep:"none" placeholder:"URL"`
	TokenLifetime   time.Duration     `help:"Lifetime of access tokens." default:"30m"`
	SignatureHeader string            `help:"Header that carries an event's signature." default:"X-Service-Signature"`
	Trust           string            `help:"PEM file with certificates to trust when delivering events." type:"path" placeholder:"FILE"`
	Connect         map[string]string `help:"Deliver to another address: HOST:PORT=HOST:PORT." placeholder:"FROM=TO"`
	RetryFirst      time.Duration     `help:"Pause before an event is delivered again; it doubles." default:"1s"`
	Bare            bool              `help:"Answer with exactly the fields interface.md shows."`
	NoDiscovery     bool              `help:"Offer no OpenID discovery."`
	OnlyAPIPrefix   bool              `name:"only-api-prefix" help:"Serve the API under /api/v1 alone."`
	NoAPIPrefix     bool              `name:"no-api-prefix" help:"Serve the API without /api/v1 alone."`
}

func (c *sandboxCmd) Run(r *run) error {
	o := sandbox.Options{
		Dir: c.Dir, Listen: c.Listen, AdminListen: c.Admin, PublicURL: c.Address,
		AccessTokenLifetime: c.TokenLifetime, SignatureHeader: c.SignatureHeader,
		Delivery: sandbox.DeliveryOptions{Via: c.Connect, RetryFirst: c.RetryFirst}, Press: documentPress(), Seal: true,
		Bare: c.Bare, NoDiscovery: c.NoDiscovery, OnlyAPIPrefix: c.OnlyAPIPrefix, NoAPIPrefix: c.NoAPIPrefix,
	}
	level := slog.LevelWarn
	if r.global.Debug {
		level = slog.LevelDebug
	}
	o.Log = slog.New(slog.NewTextHandler(r.err, &slog.HandlerOptions{Level: level}))
	client := sandbox.DemoClient()
	if c.ClientID != "" {
		client = sandbox.Client{ID: c.ClientID, Secret: r.secrets[clientSecretVariable], Name: "Countersign"}
	}
	client.Redirects = append(client.Redirects, c.Redirect...)
	o.Clients = []sandbox.Client{client}
	if c.Trust != "" {
		pem, err := os.ReadFile(c.Trust)
		if err != nil {
			return &failure{fmt.Sprintf("The certificates in %s could not be read.", c.Trust)}
		}
		if o.Delivery.CAs, err = x509.SystemCertPool(); err != nil {
			o.Delivery.CAs = x509.NewCertPool() // a computer without root certificates
		}
		if !o.Delivery.CAs.AppendCertsFromPEM(pem) {
			return &failure{fmt.Sprintf("%s holds no certificate.", c.Trust)}
		}
	}
	s, err := sandbox.Start(o)
	if err != nil {
		return &failure{fmt.Sprintf("The sandbox could not start: %v.", err)}
	}
	_ = r.out.Line("Signing service: %s", s.URL())
	if s.AdminURL() != "" {
		_ = r.out.Line("Admin port: %s", s.AdminURL())
	}
	_ = r.out.Line("OAuth client: %s", client.ID)
	<-r.ctx.Done()
	return s.Close()
}
