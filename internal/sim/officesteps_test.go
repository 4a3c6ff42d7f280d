package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

var signers = []office.Signer{
	{FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"},
	{FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"},
	{FirstName: "Zoë", LastName: "Ng", Email: "zoe@example.com"},
}

// doSend sends a draft with that many files to that many signers, in sequence or not, to be signed within that time.
func doSend(w *world, s step) {
	if w.office != nil {
		w.post(w.compose(s))
	}
}

// compose makes somebody prepare a draft.
func (w *world) compose(s step) office.NewPackage {
	w.sends++
	d := office.NewPackage{Name: fmt.Sprintf("No %d", w.sends), Sequential: s.word(2) == "sequential", Signers: signers[:max(1, min(3, s.number(1)))]}
	if due := s.span(3); due > 0 {
		d.Due = w.clock().Add(due)
	}
	d.Undo = w.undo()
	if keyed(w.seed, "copies", w.sends).IntN(4) == 0 {
		d.Recipients = []office.Recipient{{FirstName: "Rita", LastName: "Records", Email: "records@example.com", Blind: w.sends%2 == 0}}
	}
	for i := range max(1, s.number(0)) {
		// An office reuses few names for its documents.
		path := filepath.Join(w.dir, fmt.Sprintf("to send %d", w.sends), fmt.Sprintf("Contract %d.pdf", i+1))
		w.model.holds("the world cannot write", os.MkdirAll(filepath.Dir(path), 0o700))
		w.model.holds("the world cannot write", os.WriteFile(path, document(w.sends, i), 0o600))
		d.Files = append(d.Files, path)
	}
	return d
}

// post makes somebody send a draft; documents are their names at the service, if they are not the files'.
func (w *world) post(d office.NewPackage, documents ...string) {
	computer, home, host, asked := w.computer, w.current, w.host, time.Now()
	if !d.Due.IsZero() {
		w.model.news.runsOut(d.Name, w.services[home], d.Due)
	}
	w.ask(10*time.Minute, func(ctx context.Context, a *agent.Agent) {
		keep := sync.OnceFunc(func() {
			w.model.sent.promised(d, computer, home, documents...)
			w.model.sent.goes(d)
		})
		state, err := a.Send(ctx, d, func(office.SendState) {
			if !host.gone() {
				keep()
			}
		})
		w.trace.add("sent %s: %s %v", d.Name, state.State, err)
		w.answered("a draft can be sent", asked, err)
		os.RemoveAll(filepath.Join(w.dir, "to send "+strings.TrimPrefix(d.Name, "No "))) // later changes to the files must not matter
	})
}

// undoable is how long actions in the window can be undone.
const undoable = 10 * time.Second

// undo is how long the next action can be undone; commands cannot.
func (w *world) undo() time.Duration {
	if w.pressed > 0 {
		return w.pressed
	}
	return time.Duration(keyed(w.seed, "undo", time.Now().UnixNano()).IntN(2)) * undoable
}

// doWithdraw makes somebody withdraw the nth package that waits for signatures.
func doWithdraw(w *world, s step) {
	if open := w.waiting("No ", "Elsewhere "); len(open) > 0 {
		w.withdraw(open[s.number(0)%len(open)])
	}
}

// doKeep makes somebody undo all withdrawals of which the service does not know yet, or let those go that it does not confirm.
func doKeep(w *world, s step) {
	host, asked := w.host, time.Now()
	w.ask(time.Minute, func(_ context.Context, a *agent.Agent) {
		for _, id := range w.model.withdrawn.wished() {
			row, _, err := a.Package(id)
			if err != nil || !row.Withdrawal.Pending() {
				continue
			}
			kept := row.Withdrawal.State != office.WithdrawWanted
			if s.word(0) == "late" {
				err = a.LetWithdrawalGo(id)
			} else {
				kept, err = a.KeepPackage(id)
			}
			if w.answered("a withdrawal can be given up", asked, err); kept && err == nil && !host.gone() {
				w.model.withdrawn.givesUp(id)
			}
		}
	})
}

// doCorrect makes somebody correct the nth of the packages sent from here.
func doCorrect(w *world, s step) {
	if open := w.waiting("No "); len(open) > 0 {
		w.correct(open[s.number(0)%len(open)])
	}
}

// waiting are the packages with these names that, as the program knows, wait for signatures.
func (w *world) waiting(names ...string) (open []sandbox.Package) {
	for _, p := range w.services[w.current].Packages() {
		begins := func(name string) bool { return strings.HasPrefix(p.Name, name) }
		if p.State == "open" && slices.ContainsFunc(names, begins) && w.model.news.knows(p.PackageID, p.Name) {
			open = append(open, p)
		}
	}
	return open
}

// withdraw makes somebody withdraw a package.
func (w *world) withdraw(p sandbox.Package) {
	w.model.withdrawn.mayWithdraw(p.PackageID)
	computer, home, host, undo, asked := w.computer, w.current, w.host, w.undo(), time.Now()
	w.ask(10*time.Minute, func(ctx context.Context, a *agent.Agent) {
		list, err := a.Withdraw(ctx, office.NewWithdrawal{Packages: []string{p.PackageID}, Message: "A mistake", Patience: time.Minute, Undo: undo})
		w.trace.add("withdrawn %s: %v %v", p.Name, list, err)
		w.answered("a package can be withdrawn", asked, err)
		if len(list) == 1 && list[0].State != office.WithdrawRefused && !host.gone() {
			w.model.withdrawn.withdraws(p.PackageID, computer, home)
		}
	})
}

// doDecide makes somebody resend what was refused by the service in use, or waits for them.
func doDecide(w *world, _ step) {
	asked := time.Now()
	w.ask(time.Minute, func(_ context.Context, a *agent.Agent) {
		for _, d := range must(a.Drafts()) {
			if !d.Away && w.model.sent.mustGo(d.Name) && (d.State == office.DraftFailed || d.State == office.DraftHeld) {
				_, err := a.Decide(d.ID, true, w.undo())
				if w.answered("what waits can be sent", asked, err); err == nil {
					w.model.sent.goesOn(d.Name)
				}
			}
		}
	})
}

// doTakeBack makes somebody stop all that waits to be sent, until somebody decides to send it after all, or undo such decisions.
func doTakeBack(w *world, s step) {
	host, asked := w.host, time.Now()
	w.ask(time.Minute, func(_ context.Context, a *agent.Agent) {
		takeBack := a.Stop
		if s.word(0) == "undo" {
			takeBack = a.UndoDecision
		}
		for _, d := range must(a.Drafts()) {
			if d.Away || d.Corrects != "" || d.Was != "" { // the service may have it, or have it later
				continue
			}
			back, err := takeBack(d.ID)
			if w.answered("what waits can be taken back", asked, err); back && !host.gone() {
				w.model.sent.stops(d.Name)
			}
		}
	})
}

// pick lets somebody do something with the nth package at the service in use, if the program knows it.
func (w *world) pick(n int, do func(ctx context.Context, a *agent.Agent, row office.PackageRow) error) {
	all, host, asked := w.services[w.current].Packages(), w.host, time.Now()
	if len(all) == 0 {
		return
	}
	w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
		row, known, err := a.Package(all[n%len(all)].PackageID)
		if err == nil && known {
			err = do(ctx, a, row)
		}
		if !host.gone() {
			w.answered("something can be done with a package", asked, err)
		}
	})
}

// doArchive makes somebody put the nth package away, or take it out again.
func doArchive(w *world, s step) {
	w.pick(s.number(0), func(_ context.Context, a *agent.Agent, row office.PackageRow) error {
		if _, err := a.Archive(row.ID, row.Archived == nil); err != nil {
			return err
		}
		if now, _, err := a.Package(row.ID); err == nil && (now.Archived == nil) == (row.Archived == nil) {
			w.model.breaks("people see how things are: %q was put away or taken out, and still is: %+v", row.Name, now.Archived)
		}
		return nil
	})
}

// doExport makes somebody copy the files of the nth package, twice.
func doExport(w *world, s step) {
	to := filepath.Join(w.dir, "export")
	w.pick(s.number(0), func(ctx context.Context, a *agent.Agent, row office.PackageRow) error {
		defer os.RemoveAll(to)
		for range 2 {
			x, err := a.Export(ctx, []string{row.ID}, to)
			if err != nil {
				return err
			}
			files, _ := filepath.Glob(filepath.Join(to, "*"))
			for _, path := range files {
				if body, err := os.ReadFile(path); err != nil || w.model.saved.documentOf(body) == "" {
					w.model.breaks("a file under its final name is a whole document: %s has %d bytes that no service gave: %v", path, len(body), err)
				}
			}
			if x.Problem.IsZero() && (x.Copied != len(files) || x.Copied+x.Lost != x.Files) {
				w.model.breaks("people see how things are: of %q %+v were copied, and there are %q", row.Name, x, files)
			}
		}
		return nil
	})
}

// doSaveAgain makes somebody have the files of the nth package saved again.
func doSaveAgain(w *world, s step) {
	host := w.host
	w.pick(s.number(0), func(_ context.Context, a *agent.Agent, row office.PackageRow) error {
		if row.State != office.PackageExecuted {
			return nil
		}
		err := a.SaveAgain(row.ID)
		if err == nil && !host.gone() {
			w.model.saved.again(row.Name)
		}
		return err
	})
}

// doRetry makes somebody have the nth of the latest events handled again.
func doRetry(w *world, s step) {
	asked := time.Now()
	w.ask(time.Minute, func(_ context.Context, a *agent.Agent) {
		events, _, err := a.Events("", 50)
		if err == nil && len(events) > 0 {
			err = a.RetryEvent(events[s.number(0)%len(events)].ID)
		}
		w.answered("an event can be handled again", asked, err)
	})
}

func doSignIn(w *world, _ step) {
	if w.office != nil {
		w.signIn()
	}
}

func doSignOut(w *world, _ step) {
	if w.office == nil {
		return
	}
	w.mayBeOut = true
	left := w.leaves()
	w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
		err := a.SignOut(ctx)
		w.trace.add("signed out: %v", err == nil)
		if err == nil {
			left()
		}
	})
}

// leaves returns a check that the service in use, once the office has left it, no longer reports to it. It does not check an
// endpoint that may belong to another computer, which is not deleted (an office that has closed its address does not report
// that), nor one of which only a former computer knew.
func (w *world) leaves() (left func()) {
	service, address, status := w.services[w.current], w.settings.PublicURL+"/webhook", must(w.office.Status())
	another := w.taken || w.model.health.says("endpoint-lost") || w.lost && w.settings.Tunnel == office.TunnelNone
	judged := w.works() && status.SignedIn && status.Endpoint.ID != "" && !another
	return func() {
		if judged && slices.Contains(service.EndpointURLs(), address) {
			w.model.breaks("signing out deletes the endpoint: it is still there")
		}
	}
}

// configure makes somebody change the settings.
func (w *world) configure(change func(*office.Settings)) {
	s := w.settings
	change(&s)
	if s.SaveTo != w.settings.SaveTo {
		w.chosen[s.SaveTo] = true
	}
	asked := time.Now()
	w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
		err := a.Configure(ctx, s, w.secrets())
		if w.answered("settings can be changed", asked, err); err != nil {
			w.trace.add("not configured: %v", err)
			return
		}
		w.settings = s
	})
}

func doChoose(w *world, s step) {
	w.configure(func(o *office.Settings) {
		switch s.word(0) {
		case "each", "executed", "none":
			o.Notify = office.NotifyKind(s.word(0))
		case "certificates":
			o.SaveCAC = true
		case "masterfiles":
			o.SaveMaster = true
		case "documents-alone":
			o.SaveCAC, o.SaveMaster = false, false
		case "template":
			o.NameTemplate = "{document}"
		case "index", "no-index":
			o.Index = s.word(0) == "index"
		case "copies":
			o.CopyTo = []string{"Cleo Clerk <cleo@example.com>"}
		}
	})
}

func doFolder(w *world, s step) {
	w.configure(func(o *office.Settings) {
		o.SaveTo = filepath.Join(w.disk(), fmt.Sprintf("folder %d", s.number(0)%3+1))
	})
}

func doAddress(w *world, s step) {
	w.lost = w.lost || w.model.health.says("endpoint-lost") // an office without an address does not report it
	w.configure(func(o *office.Settings) {
		o.Tunnel, o.Redirect, o.RedirectURI = office.TunnelKind(s.word(0)), office.RedirectTunnel, ""
		if o.Tunnel == office.TunnelNone {
			o.Redirect, o.RedirectURI = office.RedirectPaste, returnURL
		}
	})
}

// doDomain gives the office another public address.
func doDomain(w *world, _ step) {
	w.configure(func(o *office.Settings) {
		o.Tunnel, o.Redirect, o.RedirectURI = office.TunnelExternal, office.RedirectTunnel, ""
		if o.PublicURL = secondURL; w.settings.PublicURL == secondURL {
			o.PublicURL = officeURL
		}
	})
}

// doService switches the office to the other service and signs in there.
func doService(w *world, _ step) {
	if w.office == nil {
		return
	}
	w.moveTo(1 - w.current)
}

func (w *world) moveTo(n int) {
	before := w.current
	w.current, w.mayBeOut = n, true
	s := w.services[n]
	w.configure(func(o *office.Settings) { o.AuthURL, o.BaseURL, o.ClientID = s.url, s.url, s.client.ID })
	w.sleep(time.Minute + 7*time.Second)
	if w.settings.AuthURL != s.url {
		w.current = before
		return
	}
	if w.office != nil && !must(w.office.Status()).SignedIn {
		w.signIn()
	}
}

// quiet reports whether the program has nothing to save: then it does not undo what people do to a document.
func (w *world) quiet() bool { return w.office != nil && must(w.office.Status()).Saves.Pending == 0 }

// take lets somebody do something with the nth saved document.
func (w *world) take(n int, do func(path string, f saved) error) {
	w.model.saved.lookAtFolders()
	var all []string
	for path, f := range w.model.saved.files {
		if f.document != "" && !w.model.saved.out[filepath.Dir(path)] {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return
	}
	path := all[n%len(all)]
	if err := do(path, w.model.saved.files[path]); err != nil && !os.IsNotExist(err) {
		w.model.breaks("the world cannot handle a file: %v", err)
	}
}

func doRename(w *world, s step) {
	w.take(s.number(0), func(path string, f saved) error {
		w.renames++
		w.rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf("filed %d.pdf", w.renames)), f)
		return nil
	})
}

func doMove(w *world, s step) {
	w.take(s.number(0), func(path string, f saved) error {
		dir := filepath.Join(w.disk(), "archive")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		w.rename(path, filepath.Join(dir, filepath.Base(filepath.Dir(path))+" "+filepath.Base(path)), f)
		return nil
	})
}

func (w *world) rename(from, to string, f saved) {
	if _, err := os.Stat(to); err == nil {
		return
	}
	if os.Rename(from, to) != nil {
		return
	}
	w.model.saved.unfiled(from)
	if filepath.Dir(from) == filepath.Dir(to) {
		w.model.saved.filed(to, f)
	} else {
		w.model.saved.away(f.document, w.quiet())
		return
	}
	if !w.quiet() {
		w.model.saved.places[f.document] = 2 // the program did not know yet that the first one exists
	}
}

func doDelete(w *world, s step) {
	w.take(s.number(0), func(path string, f saved) error {
		w.model.saved.unfiled(path)
		w.model.saved.away(f.document, w.quiet())
		return os.Remove(path)
	})
}

func doTryAgain(w *world, _ step) {
	w.ask(time.Minute, func(ctx context.Context, a *agent.Agent) {
		for _, i := range must(a.Status()).Health {
			a.Act(ctx, i)
		}
		a.CheckNow()
	})
}

// doReplace gives the office a new computer without data; the folder is on the server.
func doReplace(w *world, _ step) {
	if w.office == nil {
		return
	}
	w.stopped()
	w.model.saved.lookAtFolders() // what is there now was saved by the former computer
	w.left = nil
	w.newComputer()
	if err := w.begin(); err != nil {
		w.trace.add("the new computer is not signed in: %v", err)
	}
}

// newComputer switches to the next computer.
func (w *world) newComputer() {
	w.fill(false) // it has its own disk
	w.computer++
	w.lost, w.mayBeOut = false, true
	w.keyring = newKeyring()
	w.model.replaced()
}
