package i18n

import "fyne.io/fyne/v2/lang"

// NoBrowser says that no browser shows an address, why, and what to do instead.
func NoBrowser(err error) string {
	return Error(err) + " " + lang.L("Copy the address and open it in a browser yourself.")
}
