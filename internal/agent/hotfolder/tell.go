package hotfolder

import (
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// tell tells people of everything that waits for their word, and of everything that was not sent: each at once, when a lot is
// over, and once, also after a kill.
func (r *Service) tell() error {
	if len(r.looks) > 0 && r.pending() {
		return nil // the rest of the lot is on its way
	}
	all, err := r.intakes()
	if err != nil {
		return err
	}
	ask := slices.DeleteFunc(slices.Clone(all), func(in office.Intake) bool { return !in.Ask })
	unsent := slices.DeleteFunc(all, func(in office.Intake) bool { return !in.Tell })
	var facts []office.Fact
	if len(ask) > 0 {
		facts = append(facts, askFact(ask))
	}
	if len(unsent) > 0 {
		facts = append(facts, unsentFact(unsent))
	}
	if len(facts) == 0 {
		return nil
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		for _, in := range append(ask, unsent...) {
			in.Ask, in.Tell = false, false
			if err := putIntake(tx, in); err != nil {
				return err
			}
		}
		return r.deps.Owe(tx, facts...)
	})
	if err == nil {
		r.deps.Announce(facts...)
		r.Wake() // what people were told of may be done with
	}
	return err
}

// askFact is that files wait for a person's word.
func askFact(files []office.Intake) office.Fact {
	title := message.WaitForOKSomewhere(len(files))
	if oneFolder(files) {
		title = message.WaitForOK(len(files), calledFolder(files[0]))
	}
	return office.Fact{Key: "hot-folder/" + files[0].ID, Subject: office.DraftSubject(files[0].Draft), Title: title, Body: message.LookInOutbox()}
}

// unsentFact is that files lie in Problems.
func unsentFact(files []office.Intake) office.Fact {
	f := office.Fact{Key: "hot-folder/" + files[0].ID + "/" + files[0].At, Subject: office.ActivitySubject}
	if oneFolder(files) {
		f.Subject = office.HotFolderSubject(files[0].Folder)
	}
	switch {
	case len(files) == 1:
		f.Title, f.Body = message.FileNotSent(files[0].Name), files[0].Problem
	case oneFolder(files):
		f.Title, f.Body = message.FilesNotSent(len(files), calledFolder(files[0])), message.FilesInProblems()
	default:
		f.Title, f.Body = message.FilesNotSentSomewhere(len(files)), message.FilesInProblems()
	}
	return f
}

func oneFolder(files []office.Intake) bool {
	return !slices.ContainsFunc(files, func(in office.Intake) bool { return in.Path != files[0].Path })
}

func calledFolder(in office.Intake) string { return office.HotFolder{Path: in.Path}.Called() }
