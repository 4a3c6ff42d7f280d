// Package health knows what is wrong, since when, and what to do about it. Everything that can be wrong is a State in registry.go; a
// Tracker holds what is wrong now. The texts are messages, so this package contains no words. It must not know who detects problems,
// nor how they are shown.
package health

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"countersign/internal/message"
)

type Severity string

const (
	Info    Severity = "info"    // worth knowing, nothing to do
	Warning Severity = "warning" // works, with limitations
	Problem Severity = "problem" // needs a person
)

// Action is the one thing a person can do about an Issue; the UI maps it to a button.
type Action string

const (
	ActNone         Action = ""
	ActSignIn       Action = "sign_in"
	ActSwitch       Action = "switch_account"
	ActSettings     Action = "settings"
	ActFolders      Action = "folders" // the hot folders in the settings
	ActChooseFolder Action = "choose_folder"
	ActUnlock       Action = "unlock_keyring"
	ActNetwork      Action = "open_network" // the network's sign-in page, in the browser
	ActTakeEndpoint Action = "take_endpoint"
	ActBeHub        Action = "be_hub"    // be the hub again, in place of a later one
	ActTakeBack     Action = "take_back" // take the office back from another computer
	ActRetry        Action = "retry"
	ActReview       Action = "review"  // review a draft whose outcome only a person can decide
	ActQuit         Action = "quit"    // quit; the next start repairs it
	ActDismiss      Action = "dismiss" // confirm having read it; there is nothing else to do
)

// Ends says what ends a state, besides what its comment says.
type Ends int

const (
	WithService Ends = 1 << iota // the settings name another service
	WithSignIn                   // somebody signs out, or the sign-in lapses
)

// State is something that can be wrong.
type State struct {
	ID       string
	Step     message.Message // the connection check that it concerns; zero for none
	Severity Severity
	Action   Action
	After    time.Duration // how long it lasts before people are notified; 0 for never
	Behind   string        // the id of a state that explains this one; people are notified only of that, and see no other with its message
	Ends     Ends
}

// Issue is one thing that is wrong now: what, since when, and what to do about it. Issues are comparable.
type Issue struct {
	ID       string
	Severity Severity
	Since    time.Time
	Message  message.Message
	Action   Action

	state State
}

// Text returns the issue in English.
func (i Issue) Text() string { return i.Message.String() }

// Concerns reports whether the issue belongs to a connection check, by name.
func (i Issue) Concerns(step message.Message) bool {
	return slices.ContainsFunc(States(), func(s State) bool { return s.ID == i.ID && s.Step == step })
}

// issue is an Issue as JSON. Text is for readers other than this program.
type issue struct {
	ID       string          `json:"id"`
	Severity Severity        `json:"severity"` // problem, warning, info
	Since    time.Time       `json:"since"`
	Text     string          `json:"text"`
	Message  message.Message `json:"message"` // its id and arguments
	Action   Action          `json:"action"`
}

// MarshalJSON writes the issue, with its message also in English.
func (i Issue) MarshalJSON() ([]byte, error) {
	return json.Marshal(issue{i.ID, i.Severity, i.Since, i.Text(), i.Message, i.Action})
}

func (i *Issue) UnmarshalJSON(data []byte) error {
	var r issue
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	*i = Issue{ID: r.ID, Severity: r.Severity, Since: r.Since, Message: r.Message, Action: r.Action}
	return nil
}

// Tracker holds what is wrong now. Safe for concurrent use.
type Tracker struct {
	now     func() time.Time
	changed func() // called after each change, on the same goroutine, without a lock

	mu     sync.Mutex
	issues map[string]Issue
}

func New(now func() time.Time, changed func()) *Tracker {
	return &Tracker{now: now, changed: changed, issues: map[string]Issue{}}
}

// Set records that s exists. If it, or another state with its id, already did, Since is kept, so a message may be refined without
// restarting the time; but what has become a problem has begun only now.
func (t *Tracker) Set(s State, m message.Message) {
	t.change(func() bool {
		old, was := t.issues[s.ID]
		issue := Issue{s.ID, s.Severity, old.Since, m, s.Action, s}
		if !was || s.Severity == Problem && old.Severity != Problem {
			issue.Since = t.now()
		}
		t.issues[s.ID] = issue
		return issue != old
	})
}

// change updates the issues, and notifies if do returns true.
func (t *Tracker) change(do func() bool) (changed bool) {
	t.mu.Lock()
	changed = do()
	t.mu.Unlock()
	if changed {
		t.changed()
	}
	return changed
}

// Clear ends s, and any other state with its id, and reports whether it existed.
func (t *Tracker) Clear(s State) (was bool) {
	return t.change(func() bool {
		_, was := t.issues[s.ID]
		delete(t.issues, s.ID)
		return was
	})
}

// Update sets s if m is not empty, otherwise clears it.
func (t *Tracker) Update(s State, m message.Message) {
	if m.IsZero() {
		t.Clear(s)
	} else {
		t.Set(s, m)
	}
}

// MendSince corrects times in the future, recorded by a wrong clock, to now.
func (t *Tracker) MendSince() {
	t.change(func() (mended bool) {
		now := t.now()
		for id, i := range t.issues {
			if i.Since.After(now) {
				i.Since, mended = now, true
				t.issues[id] = i
			}
		}
		return mended
	})
}

// StandsSince records that the existing issue with that id began before it was found.
func (t *Tracker) StandsSince(id string, since time.Time) {
	t.change(func() bool {
		i, stands := t.issues[id]
		if i.Since = since; stands {
			t.issues[id] = i
		}
		return stands
	})
}

// Dismiss ends an issue that a person has read, unless its message has changed since, and reports whether it ended.
func (t *Tracker) Dismiss(i Issue) bool {
	t.mu.Lock()
	now, stands := t.issues[i.ID]
	over := stands && now.Action == ActDismiss && now.Message.String() == i.Message.String()
	t.mu.Unlock()
	return over && t.Clear(now.state)
}

// End ends all states that end with what has happened.
func (t *Tracker) End(what Ends) {
	for _, i := range t.List() {
		if i.state.Ends&what != 0 {
			t.Clear(i.state)
		}
	}
}

// Has reports whether s, or another state with its id, exists.
func (t *Tracker) Has(s State) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.issues[s.ID]
	return ok
}

// Stands reports whether s itself exists, not another state with its id.
func (t *Tracker) Stands(s State) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.issues[s.ID].state == s
}

// List returns the issues by severity, then oldest first. It is never nil.
func (t *Tracker) List() []Issue {
	t.mu.Lock()
	issues := make([]Issue, 0, len(t.issues))
	for _, i := range t.issues {
		issues = append(issues, i)
	}
	t.mu.Unlock()
	rank := map[Severity]int{Problem: 0, Warning: 1, Info: 2}
	slices.SortFunc(issues, func(a, b Issue) int {
		return cmp.Or(rank[a.Severity]-rank[b.Severity], a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return issues
}

// Due returns when people are first to be notified of i. ok is false if they are not notified, possibly because another issue in all
// explains it.
func (i Issue) Due(all []Issue) (at time.Time, ok bool) {
	behind := func(other Issue) bool { return other.ID == i.state.Behind && other.Severity != Info }
	if i.state.After == 0 || slices.ContainsFunc(all, behind) {
		return time.Time{}, false
	}
	return i.Since.Add(i.state.After), true
}

// Distinct leaves out of all issues those that another explains.
func Distinct(all []Issue) []Issue {
	return slices.DeleteFunc(slices.Clone(all), func(i Issue) bool {
		return slices.ContainsFunc(all, func(other Issue) bool {
			return other.ID == i.state.Behind && message.SameCause(other.Message, i.Message)
		})
	})
}
