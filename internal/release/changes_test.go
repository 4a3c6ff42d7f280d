package main

import "testing"

func TestWhatIsNewComesFromTheListOfChanges(t *testing.T) {
	const list = "# Changes\n\n**Unreleased.** Not yet\nout.\n\n**1.2.0.** Sends\nfaxes.\n\n**1.1.0.** Older.\n"
	for version, want := range map[string]string{"1.2.0": "Sends faxes.", "1.1.0": "Older.", "1.2.0-3-gabc1234": "Not yet out.", "1.3.0": "Not yet out."} {
		if got, err := changesIn(list, version); err != nil || got != want {
			t.Errorf("%s: got %q, %v", version, got, err)
		}
	}
	for _, without := range []string{"# It\n", "# Changes\n\nNothing.\n"} {
		if got, err := changesIn(without, "1.2.0"); err == nil {
			t.Errorf("of %q it made %q", without, got)
		}
	}
	if text, err := here(t).changes(); err != nil || len(text) < 20 {
		t.Errorf("ours is %q, %v", text, err)
	}
}
