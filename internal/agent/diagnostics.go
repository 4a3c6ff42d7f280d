package agent

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"countersign/internal/locations"
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
func (a *Agent) Diagnostics() string {
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
	return b.String()
}
