package i18n

import (
	"fyne.io/fyne/v2/lang"

	"countersign/internal/agent"
)

// Action is the text of an issue's button, empty when there is nothing to do.
func Action(a agent.Action) string {
	switch a {
	case agent.ActSignIn:
		return lang.L("Sign in")
	case agent.ActSettings, agent.ActFolders:
		return lang.L("Open settings")
	case agent.ActChooseFolder:
		return lang.L("Choose a folder")
	case agent.ActUnlock:
		return lang.L("Unlock")
	case agent.ActNetwork:
		return lang.L("Open the browser")
	case agent.ActTakeEndpoint:
		return lang.L("Report to this computer")
	case agent.ActTakeBack:
		return lang.L("Take the office back")
	case agent.ActRetry:
		return lang.L("Try again")
	case agent.ActReview:
		return lang.L("Show in Send")
	case agent.ActQuit:
		return lang.L("Quit")
	case agent.ActDismiss:
		return lang.L("Got it")
	}
	return ""
}
