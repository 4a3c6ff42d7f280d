package agent

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// health knows what is wrong, since when, and what to do about it. Setting an issue that is already set keeps its
// Since, so a text may be refined while the clock of the trouble runs on. Safe for concurrent use.
type health struct {
	now     func() time.Time
	changed func()

	mu     sync.Mutex
	issues map[string]Issue
}

func newHealth(now func() time.Time, changed func()) *health {
	return &health{now: now, changed: changed, issues: map[string]Issue{}}
}

// set raises or refines the issue id.
func (h *health) set(id string, severity Severity, action Action, text string) {
	h.mu.Lock()
	old, was := h.issues[id]
	issue := Issue{ID: id, Severity: severity, Since: old.Since, Text: text, Action: action}
	if !was {
		issue.Since = h.now()
	}
	h.issues[id] = issue
	h.mu.Unlock()
	if issue != old {
		h.changed()
	}
}

// clear ends the issue id and reports whether it was set; ending one that is not does nothing.
func (h *health) clear(id string) (was bool) {
	h.mu.Lock()
	_, was = h.issues[id]
	delete(h.issues, id)
	h.mu.Unlock()
	if was {
		h.changed()
	}
	return was
}

// has reports whether the issue id is set.
func (h *health) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.issues[id]
	return ok
}

// list returns the issues, the gravest first and within a severity the oldest first. It is never nil.
func (h *health) list() []Issue {
	h.mu.Lock()
	issues := make([]Issue, 0, len(h.issues))
	for _, i := range h.issues {
		issues = append(issues, i)
	}
	h.mu.Unlock()
	rank := map[Severity]int{Problem: 0, Warning: 1, Info: 2}
	slices.SortFunc(issues, func(a, b Issue) int {
		if d := rank[a.Severity] - rank[b.Severity]; d != 0 {
			return d
		}
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return issues
}
