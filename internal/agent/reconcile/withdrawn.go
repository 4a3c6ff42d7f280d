package reconcile

import (
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Note records a status that another service of the agent has asked for, with what follows from it. asked is the package as it was known when the
// question was put; noted is false where the answer may be older than what is known.
func (r *Service) Note(asked office.Package, status esign.Status) (noted bool, err error) {
	return r.applyCheck(asked, status, false)
}

// NoteGone records that asked is withdrawn, though the service, which said that it would be, shows it no more.
func (r *Service) NoteGone(asked office.Package) error {
	_, err := r.applyAnswer(asked, esign.Status{PackageID: asked.ID, State: esign.State(office.PackageRescinded)}, false, false)
	return err
}

// settle ends the wish to withdraw p with what is known of it now, and notes in found what people are told of that.
func (r *Service) settle(tx *store.Tx, p *office.Package, found *changes) error {
	if !p.Settle() {
		return nil
	}
	w := p.Withdrawal
	line := office.Activity{Time: r.Now(), PackageID: p.ID}
	if w.State == office.WithdrawDone {
		line.Kind, line.Text, line.Happened = "withdrawn", withdrawnText(p.DisplayName(), w), p.Ended()
	} else {
		facts, err := r.deps.News.NotWithdrawn(tx, *p)
		if err != nil {
			return err
		}
		found.facts = append(found.facts, facts...)
		line.Kind, line.Text = "problem", message.Then(message.NotWithdrawn(p.DisplayName()), w.Problem)
	}
	found.lines = append(found.lines, line)
	return tx.AddActivity(line)
}

// withdrawnText says who withdrew what, and with what words.
func withdrawnText(called string, w *office.Withdrawal) message.Message {
	text := message.Withdrawn(called)
	if w.By != "" {
		text = message.Withdrew(w.By, called)
	}
	if w.Message != "" {
		text = message.Then(text, message.WithdrawnSaying(message.OneLine(w.Message, office.MaxName)))
	}
	return text
}
