package ui

import (
	"strings"

	"countersign/internal/message"
	"countersign/ui/i18n"
	"countersign/ui/system"
)

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
