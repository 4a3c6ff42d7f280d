package agent

import (
	"context"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

func TestASignInDoesNotOutliveTheSettingsItBeganWith(t *testing.T) {
	o := newOfficeWith(t, quick, sandbox.Options{})
	err := o.SignIn(t.Context(), SignInOptions{}, func(address string) error {
		s := o.Settings()
		s.ClientID = "another"
		if err := o.Configure(t.Context(), s, office.Secrets{ClientSecret: "another"}); err != nil {
			return err
		}
		return visit(address)
	})
	if Message(err) != message.SettingsChanged() {
		t.Errorf("signed in: %v", err)
	}
}

// Hold has a draft wait for a person, as one does whose sending was stopped.
func (o *testOffice) Hold(d office.NewPackage) (id string, err error) {
	ended, end := context.WithCancel(context.Background())
	end()
	d.Undo = time.Minute
	state, err := o.Send(ended, d, nil)
	if state.DraftID == "" {
		return "", err
	}
	_, err = o.Stop(state.DraftID)
	return state.DraftID, err
}
