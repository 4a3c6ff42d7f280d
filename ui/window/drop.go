package window

import (
	"path/filepath"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/ui/drop"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

type drops struct {
	dropHint  *widgets.DropHint
	endDrops  func() // nil unless the window is its own drop target
	fetches   int    // drops whose files are being fetched
	fetchSeen bool   // and shown, because it takes a while
}

// takeDrops makes the window its own drop target if the system supports that and the window exists. Otherwise OnDropped learns only
// of files, and only when they are dropped.
func (w *Window) takeDrops() {
	handle := env.Handle(w.window)
	if w.endDrops != nil || w.options.Target == nil || handle == 0 {
		return
	}
	stop, err := w.options.Target(handle, drop.Window{Do: w.own.Do, Over: w.dragOver, Left: w.clearLanding, Fetching: w.fetching, Dropped: w.dropped,
		Shelf: func() drop.Shelf { return (*w.shown.Load()).NewDelivery() }})
	if err != nil {
		fyne.LogError("take what is dragged onto the window", err)
		return
	}
	w.endDrops = stop
}

// dragOver shows where the dragged files would land, and reports whether they would be taken.
func (w *Window) dragOver(at drop.Point, files bool) (takes bool) {
	place, does, refused := w.landingOf(w.inWindow(at), files)
	if refused != "" {
		w.dropHint.Refuse(refused)
		return false
	}
	w.dropHint.Take(does, place)
	return true
}

// noticeable is how long fetching files may take before it is shown: most arrive at once, and nothing should flash.
const noticeable = 300 * time.Millisecond

// fetching shows that dropped files are being fetched, as long as any are.
func (w *Window) fetching(begins bool) {
	if !begins {
		w.fetches--
		w.fetchSeen = w.fetchSeen && w.fetches > 0
		w.clearLanding()
		return
	}
	w.fetches++
	w.later(noticeable, func() {
		w.fetchSeen = w.fetches > 0
		if w.dropHint.Text() == "" {
			w.clearLanding()
		}
	})
}

// clearLanding removes the hint for dragged files, but not the one about files being fetched.
func (w *Window) clearLanding() {
	if w.fetchSeen {
		w.dropHint.Come(lang.L("Fetching the dropped files…"))
		return
	}
	w.dropHint.Clear()
}

func (w *Window) dropped(at drop.Point, paths []string, wrong []error) {
	w.clearLanding()
	for _, err := range wrong {
		w.env.Notice(i18n.Error(err))
	}
	if len(paths) > 0 {
		w.addDropped(paths, w.inWindow(at))
	}
}

// inWindow converts a position from pixels to Fyne's units.
func (w *Window) inWindow(at drop.Point) fyne.Position {
	scale := w.window.Canvas().Scale()
	return fyne.NewPos(float32(at.X)/scale, float32(at.Y)/scale)
}

// landingOf says what dropping files at a position would do, and at which place, nil for the whole window; or why they are refused.
func (w *Window) landingOf(at fyne.Position, files bool) (place *widgets.Place, does, refused string) {
	switch {
	case !files:
		return nil, "", i18n.Message(message.DropNoFile())
	case w.covered():
		return nil, "", lang.L("Answer or close what is open first, then drop again.")
	case w.setup != nil:
		return nil, lang.L("Drop a file from your administrator, or documents to send once Countersign is set up"), ""
	}
	if w.at == showCompose {
		place, does = w.compose.get().Landing(at)
		return place, does, ""
	}
	if w.at == showAbout {
		return nil, lang.L("Drop to verify"), ""
	}
	return nil, lang.L("Drop to send for signature"), ""
}

// OnDropped takes files from the graphics library if the window is not its own drop target. The position only tells between which
// documents, or on which document of a template, they were dropped; on Windows it may be 0,0.
func (w *Window) OnDropped(at fyne.Position, uris []fyne.URI) {
	var paths []string
	for _, u := range uris {
		if u.Scheme() == "file" && filepath.IsAbs(u.Path()) {
			paths = append(paths, u.Path())
		}
	}
	if len(paths) == 0 && len(uris) > 0 {
		w.env.Notice(i18n.Message(message.DropNoFile()))
		return
	}
	w.addDropped(paths, at)
}

// addDropped adds files dropped at a position, unless nothing can be dropped there.
func (w *Window) addDropped(paths []string, at fyne.Position) {
	if _, _, refused := w.landingOf(at, true); refused != "" {
		w.env.Notice(refused)
		return
	}
	documents := w.setup == nil && !slices.ContainsFunc(paths, agent.IsOfficeFile)
	switch {
	case documents && w.at == showCompose:
		w.compose.get().Drop(paths, at)
	case documents && w.at == showAbout:
		w.about.get().Verify(paths)
	default:
		w.Add(paths)
	}
}
