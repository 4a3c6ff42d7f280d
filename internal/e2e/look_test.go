//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestAScriptFollowsAPackage is a script's day: it follows what the service reports over a restart, and lists and shows the
// package meanwhile, beside the running program and without it. What it reads holds no secret and no signing link.
func TestAScriptFollowsAPackage(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	o.Setup()
	follow := o.Begin("events", "--follow", "--json")
	harness.Eventually(t, "it waits for Countersign", func() bool { return strings.Contains(follow.Stderr.String(), "is not running") })
	o.Serve()
	o.MustLogin()
	o.Registered()
	lease := sendLease(o)

	type listed struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		State   string `json:"state"`
		Saved   bool   `json:"saved"`
		Signers []struct {
			Name  string `json:"name"`
			State string `json:"state"`
		} `json:"signers"`
	}
	list := func(args ...string) (all struct {
		Packages []listed `json:"packages"`
	}) {
		t.Helper()
		harness.Must(t, json.Unmarshal([]byte(o.Must("list", append(args, "--json")...)), &all))
		return all
	}
	harness.Eventually(t, "it is listed with whose turn it is", func() bool {
		all := list("--state", "waiting", "--person", "ruiz")
		return len(all.Packages) == 1 && all.Packages[0].ID == lease.ID && len(all.Packages[0].Signers) == 2 &&
			all.Packages[0].Signers[0].State == "next" && all.Packages[0].Signers[1].State == "later"
	})
	if word := strings.TrimSpace(o.Must("complete", "--", "show", "Lea")); word != "Lease\twaiting" {
		t.Errorf("the shell is offered %q", word)
	}
	o.Service.SignAll(lease.ID)
	o.Until("it is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 && s.Events.Pending == 0 })
	told := func(kind string) func() bool {
		return func() bool { return strings.Contains(follow.Stdout.String(), `"kind":"`+kind+`"`) }
	}
	harness.Eventually(t, "the script heard of it", told("package_executed"))
	var beside string
	harness.Eventually(t, "the package is the same without the running program as beside it", func() bool {
		beside = o.Must("show", "Lease", "--json")
		o.Stop()
		alone := o.Must("show", lease.ID[:8], "--json")
		if alone != beside { // the program may have learnt more before it ended; nothing is learnt for ever
			t.Logf("without the running program the package is\n%s\nbeside it\n%s", alone, beside)
			o.Serve()
			o.Registered()
		}
		return alone == beside
	})
	if all := list("--state", "done"); len(all.Packages) != 1 || !all.Packages[0].Saved {
		t.Errorf("done: %+v", all)
	}
	events := o.Must("events", "--json", "--limit", "0")

	o.Serve()
	o.Registered()
	offer := sendOffer(o)
	o.Service.SignAll(offer.ID)
	harness.Eventually(t, "the script heard of the next one, too", func() bool {
		return strings.Contains(follow.Stdout.String(), offer.ID) && strings.Count(follow.Stdout.String(), `"kind":"package_executed"`) == 2
	})
	if code := follow.Stop(); code != 0 {
		t.Errorf("following ended with %d: %s", code, follow.Stderr)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(follow.Stdout.String()) {
		var e struct{ ID, Outcome string }
		harness.Must(t, json.Unmarshal([]byte(line), &e))
		if seen[e.ID+e.Outcome] {
			t.Errorf("told twice: %s", line)
		}
		seen[e.ID+e.Outcome] = true
	}
	for _, secret := range []string{"/sign/", "signature", "token", "http://", "https://"} {
		if text := follow.Stdout.String() + events + beside; strings.Contains(text, secret) {
			t.Errorf("%q is in what scripts read:\n%s", secret, text)
		}
	}
}
