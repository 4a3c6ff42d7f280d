package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"countersign/internal/locations"
	"countersign/internal/office"
)

// About is what the About page and a report of a problem say.
type About struct {
	Version string
	DataDir string
	LogFile string
}

// About returns where things are.
func (a *Agent) About() About {
	return About{Version: a.p.Version, DataDir: a.p.DataDir, LogFile: locations.Log(a.p.DataDir)}
}

// Diagnostics is a text for whoever is asked for help: versions, settings and state, and nothing secret.
// It tries the way to the service and back, which takes some seconds where that does not work.
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
	for _, c := range a.TryConnection(ctx, nil) {
		fmt.Fprintf(&b, "%s %s: %s", tick(c.Result), c.Step, c.Found)
		if !c.At.IsZero() {
			fmt.Fprintf(&b, " (%s)", c.At.Format(time.RFC3339))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// diagnosticsTime is how long somebody waits for a text to copy.
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
