package account

import (
	"encoding/json"
	"fmt"

	"countersign/internal/office"
)

// FirstRun is how far the first run has come: what was entered, and where. It is for the wizard to make sense of.
type FirstRun struct {
	Step     string          `json:"step"`
	Preset   string          `json:"preset,omitempty"`
	Settings office.Settings `json:"settings"`
	Secrets  office.Secrets  `json:"secrets"`
}

// KeepFirstRun keeps it, secrets and all, sealed as every secret is. Configure forgets it. While the key is not there,
// nothing is kept.
func (r *Room) KeepFirstRun(f FirstRun) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := r.keys.Put(map[string][]byte{sealedFirstRun: b}); err != nil {
		return fmt.Errorf("keep what was entered: %w", err)
	}
	return nil
}

// FirstRun is what was kept; false when there is nothing, or nothing that can be read now. It reads the local store.
func (r *Room) FirstRun() (f FirstRun, kept bool) {
	b, err := r.keys.Get(sealedFirstRun)
	if err != nil || b == nil || json.Unmarshal(b, &f) != nil {
		return FirstRun{}, false
	}
	return f, true
}
