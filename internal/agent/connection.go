package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/archive"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/proxy"
	"countersign/internal/tunnel"
)

// diagnoseTime limits testing the way to ngrok, openTime waiting for the public address.
const (
	diagnoseTime = 20 * time.Second
	openTime     = 8 * time.Second
)

// step is a check on the way to the service and back.
type step struct {
	office.Check                                    // its present result
	try          func(context.Context) office.Check // nil if there is nothing to test
}

// Connection returns what is known of the way to the service and back, check by check, without network access. There are no checks
// while another computer has the office.
func (a *Agent) Connection(ctx context.Context) []office.Check { return checks(a.steps(ctx)) }

// TryConnection runs every check of the way to the service and back, and calls show with all of them whenever another result is
// known. It changes nothing, except that waiting work is retried at once, so that health is soon up to date.
func (a *Agent) TryConnection(ctx context.Context, show func([]office.Check)) []office.Check {
	if err := a.retry(); err != nil {
		a.Log.Warn("try everything with the connection", "err", err)
	}
	return tryAll(ctx, a.steps(ctx), show)
}

// TryEverything is TryConnection, and then checks all saved files. Health says what it found of those.
func (a *Agent) TryEverything(ctx context.Context, show func([]office.Check)) []office.Check {
	list := a.TryConnection(ctx, show)
	if len(list) == 0 {
		return list
	}
	files := &list[len(list)-1]
	if ctx.Err() != nil || files.Result == office.CheckUnknown { // there is no folder, or it does not answer
		return list
	}
	fine, shown := *files, time.Time{}
	err := a.proof.CheckFiles(ctx, func(done, all int) {
		if now := a.Now(); now.Sub(shown) > progressPause {
			shown, files.Result, files.Found = now, office.CheckUnderWay, message.FilesBeingChecked(done, all)
			show(slices.Clone(list))
		}
	})
	if *files = fine; err != nil && ctx.Err() == nil {
		*files = checkWrong(files.Step, message.For(err))
	}
	return list
}

// progressPause is how often progress is shown.
const progressPause = 200 * time.Millisecond

// TryNgrok tests the way to ngrok with settings that need not be in use.
func (a *Agent) TryNgrok(ctx context.Context, s office.Settings, show func([]office.Check)) []office.Check {
	return tryAll(ctx, a.ngrokSteps(s.Normal()), show)
}

func checks(steps []step) []office.Check {
	list := make([]office.Check, len(steps))
	for i, s := range steps {
		list[i] = s.Check
	}
	return once(list)
}

// once says a reason only for the first check that it concerns.
func once(list []office.Check) []office.Check {
	all := slices.Clone(list)
	for i, c := range all {
		same := func(before office.Check) bool {
			return before.Result == office.CheckWrong && message.SameCause(before.Found, c.Found)
		}
		if c.Result == office.CheckWrong && c.Issue == "" && slices.ContainsFunc(all[:i], same) {
			list[i].Found = message.SameReason()
		}
	}
	return list
}

func tryAll(ctx context.Context, steps []step, show func([]office.Check)) []office.Check {
	if show == nil {
		show = func([]office.Check) {}
	}
	for i := range steps {
		if steps[i].try != nil {
			steps[i].Result, steps[i].Found, steps[i].At = office.CheckUnknown, message.NotTried(), time.Time{}
		}
	}
	for i := range steps {
		if steps[i].try == nil || ctx.Err() != nil {
			continue
		}
		steps[i].Result, steps[i].Found = office.CheckUnderWay, message.BeingTried()
		show(checks(steps))
		steps[i].Check = steps[i].try(ctx)
	}
	list := checks(steps)
	show(list)
	return list
}

func checkFine(name, found message.Message) office.Check {
	return office.Check{Step: name, Result: office.CheckFine, Found: found}
}

func checkWrong(name, found message.Message) office.Check {
	return office.Check{Step: name, Result: office.CheckWrong, Found: found}
}

func checkUnknown(name, found message.Message) office.Check {
	return office.Check{Step: name, Found: found, Result: office.CheckUnknown}
}

func (a *Agent) steps(ctx context.Context) []step {
	if a.Health.Has(health.MovedAway) { // nothing leads anywhere
		return nil
	}
	s := a.Settings()
	steps := a.waySteps(ctx, s)
	steps = append(steps, a.serviceSteps(s)...)
	if s.Tunnel == office.TunnelNgrok {
		steps = append(steps, a.ngrokSteps(s)...)
	}
	return append(steps, a.backSteps(s)...)
}

// WithHealth adds each present issue to the check that it concerns, so that no check with an issue counts as fine.
func WithHealth(steps []office.Check, issues []Issue) []office.Check {
	steps = slices.Clone(steps)
	for n := range steps {
		s := &steps[n]
		if at := slices.IndexFunc(issues, func(i Issue) bool { return i.Concerns(s.Step) }); at >= 0 { // gravest first
			s.Issue, s.Found, s.At, s.Result = issues[at].ID, issues[at].Message, issues[at].Since, office.CheckWrong
			if issues[at].Severity == Info {
				s.Result = office.CheckUnknown
			}
		}
	}
	return once(steps)
}

func (a *Agent) waySteps(ctx context.Context, s office.Settings) []step {
	var found message.Message
	var steps []step
	if u, err := url.Parse(s.BaseURL); err == nil && u.Host != "" {
		check := a.way(ctx, message.StepProxy(), net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
		found, steps = check.Found, append(steps, step{Check: check})
	}
	if s.Tunnel == office.TunnelNgrok {
		if check := a.way(ctx, message.StepProxyNgrok(), tunnel.NgrokServer(s.NgrokConnectURL)); check.Found != found {
			steps = append(steps, step{Check: check})
		}
	}
	return steps
}

func (a *Agent) way(ctx context.Context, name message.Message, hostport string) office.Check {
	answer, err := a.p.Network.Find(ctx, hostport)
	if err != nil {
		return checkWrong(name, message.For(err))
	}
	at := answer.Name()
	by := map[proxy.Source]func(string) message.Message{
		proxy.Environment: message.WayEnvironment, proxy.System: message.WaySystem, proxy.Script: message.WayScript, proxy.Detected: message.WayDetected,
	}[answer.Source]
	switch {
	case answer.Source == proxy.Here:
		return checkFine(name, message.WayHere())
	case answer.Source == proxy.Unread:
		return checkWrong(name, message.WayUnread())
	case by == nil:
		return checkFine(name, message.WayStraight())
	case at == "" && answer.Source == proxy.Environment:
		return checkFine(name, message.WayExceptedEnvironment())
	case at == "":
		return checkFine(name, message.WayExcepted())
	}
	return checkFine(name, by(at))
}

func (a *Agent) serviceSteps(s office.Settings) []step {
	if !s.Configured() {
		return []step{{Check: checkUnknown(message.StepService(), message.NotSetUp())}}
	}
	page, api := checkUnknown(message.StepSignInAddress(), message.NotTried()), checkUnknown(message.StepService(), message.NotTried())
	if at, _ := a.packages.Swept(); !at.IsZero() {
		api = checkFine(api.Step, message.Answers())
		api.At = at
	}
	var once sync.Once
	var bad error
	ask := func(name message.Message, field string) func(context.Context) office.Check {
		return func(ctx context.Context) office.Check {
			once.Do(func() { bad = a.TestService(ctx, s) })
			var config *ConfigError
			switch {
			case bad == nil:
				return checkFine(name, message.Answers())
			case !errors.As(bad, &config) || message.For(bad) != config.Message():
				return checkWrong(name, message.For(bad))
			}
			for _, f := range config.Fields {
				if f.Field == field {
					return checkWrong(name, f.Text)
				}
			}
			if len(config.Fields) > 0 && config.Fields[0].Code != office.CodeNoService { // nothing was checked
				return checkUnknown(name, message.NotReached())
			}
			return checkFine(name, message.Answers())
		}
	}
	signIn := checkWrong(message.StepSignIn(), message.NotSignedIn())
	if o := a.account.Current(); o.SignedIn() {
		signIn = checkFine(signIn.Step, message.SignedInNow())
		if o.Account.Email != "" {
			signIn.Found = message.SignedInNowAs(o.Account.Email)
		}
	}
	return []step{{page, ask(page.Step, office.FieldAuthURL)}, {api, ask(api.Step, office.FieldBaseURL)}, {Check: signIn}}
}

// ngrokSteps are the checks of tunnel.Diagnose.
func (a *Agent) ngrokSteps(s office.Settings) []step {
	var once sync.Once
	var found tunnel.Diagnosis
	var failed error
	byProxy := false
	diagnose := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, diagnoseTime)
		defer cancel()
		if answer, err := a.p.Network.Find(ctx, tunnel.NgrokServer(s.NgrokConnectURL)); err == nil {
			byProxy = answer.First() != nil
		}
		found, failed = a.webhook.Diagnose(ctx, s, byProxy)
	}
	names := map[tunnel.Step]message.Message{tunnel.StepName: message.StepNgrokName(), tunnel.StepConnect: message.StepNgrokConnect(),
		tunnel.StepTLS: message.StepNgrokTLS(), tunnel.StepTunnel: message.StepNgrokTunnel()}
	works := map[tunnel.Step]message.Message{tunnel.StepName: message.NameFound(), tunnel.StepConnect: message.ConnectionMade(),
		tunnel.StepTLS: message.Secure(), tunnel.StepTunnel: message.Answers()}
	var steps []step
	for at, one := range tunnel.Steps {
		name := names[one]
		steps = append(steps, step{checkUnknown(name, message.NotTried()), func(ctx context.Context) office.Check {
			once.Do(func() { diagnose(ctx) })
			failedAt := slices.Index(tunnel.Steps, found.Failed) // -1 for none
			switch {
			case failed != nil:
				return checkWrong(name, message.For(failed))
			case at == failedAt:
				return checkWrong(name, found.Err.Message())
			case failedAt >= 0 && at > failedAt:
				return checkUnknown(name, message.NotReached())
			case one == tunnel.StepName && byProxy:
				return checkFine(name, message.NameByProxy())
			}
			return checkFine(name, works[one])
		}})
	}
	return steps
}

// backSteps are the checks of how the service reports to this computer.
func (a *Agent) backSteps(s office.Settings) []step {
	saved := checkUnknown(message.StepDocuments(), message.NotSetUp())
	if s.SaveTo != "" {
		saved = checkFine(saved.Step, message.SavedIn(filepath.Base(s.SaveTo)))
	}
	steps := []step{a.addressStep(s), {Check: a.registration()}, {Check: a.lastEvent(s)}, {Check: saved}}
	if s.SaveTo != "" {
		steps[3].try = func(context.Context) office.Check { return a.findFolder(s.SaveTo, saved) }
	}
	return steps
}

// findFolder returns fine if the folder for documents exists. It does not wait for a share that does not answer.
func (a *Agent) findFolder(folder string, fine office.Check) office.Check {
	switch err := a.saves.FindFolder(folder); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return checkUnknown(fine.Step, message.NotReached())
	case err != nil:
		return checkWrong(fine.Step, archive.Message(err))
	}
	return fine
}

func (a *Agent) addressStep(s office.Settings) step {
	name := message.StepAddress()
	if s.Tunnel == office.TunnelNone {
		return step{Check: checkUnknown(name, message.AddressNone())}
	}
	if s.Tunnel == office.TunnelOffice {
		check := checkUnknown(name, message.NotTried())
		if since, _ := a.desks.ListeningSince(); !since.IsZero() {
			check = checkFine(name, message.HubConnected())
			check.At = since
		}
		return step{Check: check}
	}
	known := func() office.Check {
		now := a.webhook.Address()
		check := checkUnknown(name, message.NotTried())
		if now.State == string(tunnel.Up) {
			check = checkFine(name, message.AddressOpen(now.URL))
		} else if err := a.webhook.Trouble(); err != nil {
			check = checkWrong(name, message.For(err))
		}
		check.At = now.Since.Time
		return check
	}
	return step{known(), func(ctx context.Context) office.Check {
		if check := known(); check.Result == office.CheckFine {
			return check
		}
		a.webhook.Reopen()
		ctx, cancel := context.WithTimeout(ctx, openTime)
		defer cancel()
		a.webhook.WaitOpen(ctx)
		check := known()
		if check.Result == office.CheckUnknown {
			check = checkWrong(name, message.PublicAddressLate())
		}
		return check
	}}
}

func (a *Agent) registration() office.Check {
	id, address, at := a.webhook.Endpoint()
	if id == "" && address == "" {
		return checkUnknown(message.StepEndpoint(), message.NotRegistered())
	}
	check := checkFine(message.StepEndpoint(), message.Registered(address))
	check.At = at
	return check
}

func (a *Agent) lastEvent(s office.Settings) office.Check {
	name := message.StepEvent()
	events, _, err := a.Events("", 1)
	switch {
	case err != nil:
		return checkWrong(name, message.For(err))
	case len(events) == 0 && s.Tunnel == office.TunnelNone:
		return checkUnknown(name, message.NoEventReported())
	case len(events) == 0:
		return checkUnknown(name, message.NoEvent())
	}
	check := checkFine(name, message.EventArrived())
	check.At = events[0].Received
	return check
}

// Hosts returns the addresses that a network must allow, as host:port without duplicates, leaving out those of this computer.
func (a *Agent) Hosts() []string {
	s := a.Settings()
	var hosts []string
	add := func(hostport string) {
		if !slices.Contains(hosts, hostport) {
			hosts = append(hosts, hostport)
		}
	}
	for _, address := range []string{s.AuthURL, s.BaseURL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" && !proxy.IsHere(u.Hostname()) {
			add(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
		}
	}
	if s.Tunnel == office.TunnelNgrok {
		add(tunnel.NgrokServer(s.NgrokConnectURL))
	}
	return hosts
}

// About is the data for the About page and for problem reports.
type About struct {
	Version string
	DataDir string
	LogFile string
}

func (a *Agent) About() About {
	return About{Version: a.p.Version, DataDir: a.p.DataDir, LogFile: locations.Log(a.p.DataDir)}
}

// Diagnostics returns a text for support: versions, settings and state, without secrets. It tests the way to the service and back,
// which takes some seconds if that does not work.
func (a *Agent) Diagnostics(ctx context.Context) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Countersign %s, %s/%s, %s\n\n", a.p.Version, runtime.GOOS, runtime.GOARCH, a.Now().Format(time.RFC3339))
	status, err := a.Status()
	if err != nil {
		fmt.Fprintf(&b, "%v\n\n", err)
	}
	for _, part := range []struct {
		name  string
		value any
	}{{"settings", a.Settings()}, {"status", status}} {
		text, err := json.MarshalIndent(part.value, "", "  ")
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n\n", part.name, text)
	}
	b.WriteString("connection:\n")
	ctx, cancel := context.WithTimeout(ctx, diagnosticsTime)
	defer cancel()
	for _, c := range WithHealth(a.TryConnection(ctx, nil), a.Health.List()) {
		fmt.Fprintf(&b, "%s %s: %s", tick(c.Result), c.Step, c.Found)
		if !c.At.IsZero() {
			fmt.Fprintf(&b, " (%s)", c.At.Format(time.RFC3339))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// diagnosticsTime is how long a person has to wait for that text.
const diagnosticsTime = 30 * time.Second

func tick(r office.CheckResult) string {
	switch r {
	case office.CheckFine:
		return "[x]"
	case office.CheckWrong:
		return "[!]"
	}
	return "[ ]"
}
