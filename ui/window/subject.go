package window

import "countersign/internal/office"

// show goes to what a notification is about. An empty subject leaves everything as it is, and so does the first run, which
// has nothing to show yet.
func (w *Window) show(s office.Subject) {
	if w.setup != nil {
		return
	}
	if id, ok := s.Package(); ok {
		w.ShowPackage(id)
	}
	if id, ok := s.Problem(); ok {
		w.ShowProblem(id)
	}
	if id, ok := s.Draft(); ok {
		w.Go(showCompose)
		w.compose.get().ShowDraft(id)
	}
	if _, ok := s.HotFolder(); ok || s == office.ActivitySubject {
		w.Go(showActivity)
	}
	if s == office.UpdateSubject {
		w.showUpdate()
	}
}
