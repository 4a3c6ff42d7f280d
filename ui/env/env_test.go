package env

import (
	"testing"
	"time"

	"countersign/internal/agent"
)

func TestTheGravestAndOldestIssueIsShownFirst(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	issues := []agent.Issue{
		{ID: "info", Severity: agent.Info, Since: at.Add(-9 * time.Hour)},
		{ID: "warning", Severity: agent.Warning, Since: at.Add(-5 * time.Hour)},
		{ID: "new", Severity: agent.Problem, Since: at},
		{ID: "old", Severity: agent.Problem, Since: at.Add(-time.Hour)},
	}
	if worst, others := Problem(issues); worst.ID != "old" || others != 2 {
		t.Errorf("got %s and %d others", worst.ID, others)
	}
	if worst, others := Problem(issues[:1]); worst.ID != "" || others != 0 {
		t.Errorf("an info needs nobody, got %s and %d others", worst.ID, others)
	}
}
