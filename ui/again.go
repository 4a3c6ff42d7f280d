package ui

import (
	"strings"

	"countersign/internal/message"
	"countersign/ui/i18n"
	"countersign/ui/opengl"
	"countersign/ui/system"
)

// Again is what starts this program anew, with the same command line, to draw its window in software; nil where that is not to
// be had, or was tried just now. On Linux it does not return but for an error.
func Again() func() error {
	if opengl.Chosen() || !opengl.Available() {
		return nil
	}
	return func() error { return system.StartAgain(opengl.Environment()) }
}

// Alert tells people something in a box of the desktop's own, for which no window is needed, in the language of the window, or
// else of the system. It reports whether they can have seen it; see system.Alert.
func Alert(m message.Message) bool {
	if i18n.Code() == "" {
		if err := i18n.Load(); err == nil {
			i18n.Use("")
		}
	}
	what, next := i18n.Words().Lines(m)
	return system.Alert("Countersign", strings.TrimSpace(what+"\n\n"+next))
}
