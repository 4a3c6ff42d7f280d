package account

import (
	"encoding/json"
	"errors"
	"fmt"

	"countersign/internal/office"
)

// FirstRun is how far the first run has come: what was entered, and where. It is for the wizard to make sense of.
type FirstRun struct {
	Step     string          `json:"step"`
	Settings office.Settings `json:"settings"`
	Secrets  office.Secrets  `json:"secrets"`
}

// KeepFirstRun keeps it, secrets and all, sealed as every secret is. Configure forgets it. While the key is not there,
// nothing is kept.
func (r *Service) KeepFirstRun(f FirstRun) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := r.keys.Put(map[string][]byte{sealedFirstRun: b}); err != nil {
		return fmt.Errorf("keep what was entered: %w", err)
	}
	return nil
}

// FirstRun is what was kept; kept is false when there is nothing, or nothing while the key is out of reach, which health
// says.
func (r *Service) FirstRun() (f FirstRun, kept bool, err error) {
	b, err := r.keys.Get(sealedFirstRun)
	switch {
	case errors.Is(err, ErrLocked):
		return f, false, nil
	case err != nil || b == nil:
		return f, false, err
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return FirstRun{}, false, fmt.Errorf("read what was entered: %w", err)
	}
	return f, true, nil
}
