// Package demo plays a complete run on the embedded signing service with simulated signers. It needs no account and no
// internet, and everything but the people is real: the sign-in, the tunnel's address on this computer, the events and their
// signatures, the PDFs. The demo command and the window's demo share it. Its state lives in a folder of its own that is
// removed when the demo ends; the saved documents stay, and so does what people sent from a folder.
package demo

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
	"countersign/internal/secret"
)

// Options configure the demo.
type Options struct {
	Folder  string        // for the saved documents; created if missing
	Version string        //
	Pace    time.Duration // how long a simulated signer takes
	ByHand  bool          // leaves something to the user: a package that waits for their signature, and a watched folder that sends
	Log     *slog.Logger

	DocumentReader []string // see agent.Params
	Press          []string // see sandbox.Options

	Notify func(office.Notice) error // nil shows none
	Words  func() *message.Printer   // see agent.Params

	Language func() string // see agent.Params

	Windowed  bool                                                 // see agent.Params
	OpenSaved func(path string, inFolder bool, token string) error // see agent.Params

	Step func(office.Activity) // told of everything that happens; must not block; may be nil
}

// Demo is a running demo: the service and an agent configured for it.
type Demo struct {
	Agent   *agent.Agent
	Service *sandbox.Server

	o       Options
	state   string // folder of state and samples, removed by Close
	sends   string // the folder that sends; empty without one
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start starts the service and the agent, and signs in: nobody has to do that in a demo. Nothing is sent yet.
func Start(ctx context.Context, o Options) (d *Demo, err error) {
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return nil, message.Error(message.FolderNotMade(), err)
	}
	state, err := os.MkdirTemp("", "countersign-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the demo: %w", err)
	}
	begun := &Demo{o: o, state: state, stop: func() {}}
	d = begun
	defer func() {
		if err != nil {
			begun.Close()
		}
	}()
	d.Agent, err = agent.Open(ctx, agent.Params{
		DataDir: filepath.Join(state, "data"), Keeper: secret.Memory(), Version: o.Version, Log: o.Log,
		Desktop: agent.Desktop{Notify: o.Notify, Words: o.Words, Language: o.Language, Windowed: o.Windowed, OpenSaved: o.OpenSaved}, ShowSteps: o.Step, DocumentReader: o.DocumentReader,
	})
	if err != nil {
		return nil, err
	}
	own, err := d.Agent.LocalhostCertificate()
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(own)
	client := sandbox.DemoClient()
	d.Service, err = sandbox.Start(sandbox.Options{
		Dir: filepath.Join(state, "service"), Clients: []sandbox.Client{client}, AutoConsent: true,
		Delivery: sandbox.DeliveryOptions{CAs: trusted}, Log: o.Log, Press: o.Press, Seal: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start the signing service: %w", err)
	}
	if err := d.Agent.TrustSeals(d.Service.SealRoot()); err != nil {
		return nil, err
	}
	s := office.DefaultSettings()
	s.AuthURL, s.BaseURL, s.ClientID = d.Service.URL(), d.Service.URL(), client.ID
	s.Tunnel, s.Redirect = office.TunnelLoopback, office.RedirectLoopback
	s.SaveTo, s.SaveCAC, s.SaveMaster = o.Folder, true, true
	s.NameTemplate = "{package}/{document} - {kind}"
	if err := d.Agent.Configure(ctx, s, office.Secrets{ClientSecret: client.Secret}); err != nil {
		return nil, err
	}
	if o.ByHand {
		if err := d.addFolder(); err != nil {
			return nil, err
		}
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.running.Go(func() { d.Agent.Run(run) })
	if err := d.signIn(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// Close stops the agent and the service and removes their state. The saved documents stay.
func (d *Demo) Close() error {
	d.stop()
	d.running.Wait()
	var errs []error
	if d.Agent != nil {
		errs = append(errs, d.Agent.Close())
	}
	if d.Service != nil {
		errs = append(errs, d.Service.Close())
	}
	return errors.Join(append(errs, d.removeFolder(), os.RemoveAll(d.state))...)
}

// signIn runs the whole OAuth flow, with a program in place of the browser.
func (d *Demo) signIn(ctx context.Context) error {
	return d.Agent.SignIn(ctx, agent.SignInOptions{}, func(address string) error {
		d.running.Go(func() { visit(ctx, address) })
		return nil
	})
}

// visit follows an address as a browser does. The sign-in itself reports whether it worked.
func visit(ctx context.Context, address string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	client := &http.Client{Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// samples writes the sample documents to a folder from which they can be sent.
func (d *Demo) samples() (folder string, err error) {
	folder = filepath.Join(d.state, "samples")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	all := assets.Samples()
	entries, err := fs.ReadDir(all, ".")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		b, err := fs.ReadFile(all, e.Name())
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(folder, e.Name()), b, 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// sendFolder is the name of the demo's watched folder.
const sendFolder = "To sign"

// addFolder adds a watched folder. It lies outside state: what people put there is theirs, and may be their only copy.
func (d *Demo) addFolder() error {
	parent, err := os.MkdirTemp("", "countersign-demo-folder-")
	if err != nil {
		return fmt.Errorf("make a folder that sends: %w", err)
	}
	d.sends = filepath.Join(parent, sendFolder)
	if err := os.Mkdir(d.sends, 0o700); err != nil {
		return fmt.Errorf("make a folder that sends: %w", err)
	}
	if _, err := d.Agent.PutHotFolder(office.HotFolder{Path: d.sends, Signers: []office.Signer{ana}}); err != nil {
		return fmt.Errorf("have a folder send: %w", err)
	}
	return nil
}

// removeFolder removes that folder if nobody has put anything into it.
func (d *Demo) removeFolder() error {
	if d.sends == "" {
		return nil
	}
	for _, place := range []string{office.HotWaiting, office.HotSent, office.HotSigned, office.HotProblems} {
		os.Remove(filepath.Join(d.sends, place)) // fails if it is not empty, which is intended
	}
	if left, err := os.ReadDir(d.sends); err != nil || len(left) > 0 {
		return err
	}
	return errors.Join(os.Remove(d.sends), os.Remove(filepath.Dir(d.sends)))
}
