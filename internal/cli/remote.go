package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/single"
)

// remote is the office of the running instance, reached through its control socket.
type remote struct{ client *http.Client }

// Where another command has the data folder to itself, the next one waits for its turn; not as long where a person looks at a
// screen on which nothing happens.
const (
	turnPatience = 5 * time.Minute
	openPatience = 15 * time.Second
	turnPause    = 100 * time.Millisecond
)

// dial finds the running instance of the data folder. Another command at work there is waited for, unless it is only
// to be looked at. Without a running instance it returns what start makes of the data folder.
func dial[T any](r *run, look bool, found func(*remote) T, start func() (T, error)) (T, error) {
	var none T
	patience := turnPatience
	if r.windowed {
		patience = openPatience
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	for {
		client, err := single.Client(r.global.Data)
		switch {
		case errors.Is(err, single.ErrNotRunning):
			made, err := start()
			if !errors.Is(err, single.ErrRunning) { // another command was quicker
				return made, err
			}
		case err != nil:
			return none, message.Error(single.Message(err), err)
		default:
			running := &remote{client}
			if said, err := running.hello(ctx); err == nil && (look || !said.Brief) {
				return found(running), nil
			}
			running.Close()
		}
		select {
		case <-time.After(turnPause):
		case <-ctx.Done():
			return none, message.Error(message.OtherIsSilent(), ctx.Err())
		}
	}
}

func (r *remote) hello(ctx context.Context) (h hello, err error) {
	err = r.get(ctx, pathHello, &h)
	return h, err
}

// get reads what is at path.
func (r *remote) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://countersign"+path, nil)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		err = json.NewDecoder(resp.Body).Decode(into)
	} else {
		var m reply
		if err = json.NewDecoder(resp.Body).Decode(&m); err == nil {
			return &failure{m.Error}
		}
	}
	if err != nil {
		return unreachable(ctx, err)
	}
	return nil
}

func (r *remote) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

func (r *remote) Status(ctx context.Context) (s agent.Status, err error) {
	err = r.get(ctx, pathStatus, &s)
	return s, err
}

func (r *remote) Configure(ctx context.Context, change settingsChange) (s office.Settings, err error) {
	err = r.call(ctx, pathConfigure, change, func(m reply) error {
		if m.Settings != nil {
			s = *m.Settings
		}
		return nil
	})
	return s, err
}

func (r *remote) Office(ctx context.Context, change settingsChange) (file agent.OfficeFile, err error) {
	err = r.call(ctx, pathOffice, change, func(m reply) error {
		if m.Office != nil {
			file = *m.Office
		}
		return nil
	})
	return file, err
}

func (r *remote) SignIn(ctx context.Context, o agent.SignInOptions, open func(string) error) error {
	return r.call(ctx, pathSignIn, o, func(m reply) error {
		if m.Address == "" {
			return nil
		}
		return open(m.Address)
	})
}

func (r *remote) Paste(ctx context.Context, address string) error {
	return r.call(ctx, pathPaste, pasteRequest{address}, nil)
}

func (r *remote) SignOut(ctx context.Context) error { return r.call(ctx, pathSignOut, struct{}{}, nil) }

func (r *remote) Send(ctx context.Context, d office.NewPackage, progress func(office.SendState)) (state office.SendState, err error) {
	err = r.call(ctx, pathSend, d, func(m reply) error {
		if m.State != nil {
			state = *m.State
			progress(state)
		}
		return nil
	})
	if errors.Is(err, errSilent) { // the draft is kept and may still go out: trying again could send it twice
		err = &failure{"Countersign ended before it said whether the package was sent. Look at countersign status before sending it again."}
	}
	return state, err
}

func (r *remote) SignPage(ctx context.Context, q linkRequest) (address string, err error) {
	err = r.call(ctx, pathLink, q, func(m reply) error {
		if m.Address != "" {
			address = m.Address
		}
		return nil
	})
	return address, err
}

func (r *remote) CheckUpdate(ctx context.Context, q updateRequest) (u office.Update, err error) {
	err = r.call(ctx, pathUpdate, q, func(m reply) error {
		if m.Update != nil {
			u = *m.Update
		}
		return nil
	})
	return u, err
}

func (r *remote) Move(ctx context.Context, m moveRequest) (shown agent.Arrival, err error) {
	err = r.call(ctx, pathMove, m, func(answer reply) error {
		if answer.Move != nil {
			shown = *answer.Move
		}
		return nil
	})
	return shown, err
}

func (r *remote) Templates(ctx context.Context, search string) (list []office.Template, err error) {
	list = []office.Template{}
	err = r.call(ctx, pathTemplates, templatesRequest{search}, func(m reply) error {
		list = append(list, m.Templates...)
		return nil
	})
	return list, err
}

func (r *remote) List(ctx context.Context, q office.Query) (list []listedPackage, err error) {
	err = r.call(ctx, pathList, q, func(m reply) error {
		list = append([]listedPackage{}, m.Packages...) // none is an empty list, as here
		return nil
	})
	return list, err
}

func (r *remote) Show(ctx context.Context, word string) (p shownPackage, err error) {
	err = r.call(ctx, pathPackage, packageRequest{word}, func(m reply) error {
		if m.Package != nil {
			p = *m.Package
		}
		return nil
	})
	return p, err
}

func (r *remote) Events(ctx context.Context, q eventsRequest) (list []listedEvent, err error) {
	err = r.call(ctx, pathEvents, q, func(m reply) error {
		list = append([]listedEvent{}, m.Events...)
		return nil
	})
	return list, err
}

func (r *remote) Withdraw(ctx context.Context, n office.NewWithdrawal) (list []office.Withdrawn, err error) {
	err = r.call(ctx, pathWithdraw, n, func(m reply) error {
		list = m.Withdrawn
		return nil
	})
	if errors.Is(err, errSilent) { // the wish is kept: it is done later
		err = &failure{"Countersign ended before it said whether the packages were withdrawn. It goes on with that at its next start."}
	}
	return list, err
}

// show brings the window of the running instance up and hands it files.
func (r *remote) show(ctx context.Context, files []string) error {
	return r.call(ctx, pathShow, showRequest{files}, nil)
}

// call posts request to path and hands each message of the answer to each, until the last one.
func (r *remote) call(ctx context.Context, path string, request any, each func(reply) error) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://countersign"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return &failure{"The running Countersign is of another version and does not know this command. End it and start it again."}
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the running instance answered %s", resp.Status)
	}
	for lines := json.NewDecoder(resp.Body); ; {
		var m reply
		if err := lines.Decode(&m); err != nil {
			return unreachable(ctx, err)
		}
		if each != nil {
			if err := each(m); err != nil {
				return err
			}
		}
		if m.Error != "" {
			return &failure{m.Error}
		}
		if m.Done {
			return nil
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

// errSilent is a running instance that was reached and then said nothing, or no more.
var errSilent = &failure{"The running Countersign did not answer. End it and try again."}
