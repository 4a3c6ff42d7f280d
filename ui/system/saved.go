package system

// OpenSaved opens a saved document, or shows it in its folder, for whoever pressed on a notification. token is what the
// desktop gave with the press, so that the program which opens it may come to the front; it may be empty.
func OpenSaved(path string, inFolder bool, token string) error {
	o := Opener{Token: token}
	if inFolder {
		return o.ShowInFolder(path)
	}
	return o.OpenFile(path)
}
