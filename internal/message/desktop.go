package message

// What the desktop does for the window.

func NoBrowser() Message      { return of("desktop.no-browser") }
func BrowserSilent() Message  { return of("desktop.browser-silent") }
func NotAWebAddress() Message { return of("desktop.not-a-web-address") }

func FileMoved(file, folder string) Message {
	return of("desktop.file-moved", Name("File", file), Text("Folder", folder))
}

func NoProgram(file string) Message { return of("desktop.no-program", Name("File", file)) }

func NoProgramForFolder(file string) Message {
	return of("desktop.no-program-for-folder", Name("File", file))
}

func FilesNotCopied() Message { return of("desktop.files-not-copied") }
func NoMailProgram() Message  { return of("desktop.no-mail-program") }

func NotPrinted(file string) Message { return of("desktop.not-printed", Name("File", file)) }

func AutostartUnknown() Message { return of("desktop.autostart-unknown") }
func AutostartDecided() Message { return of("desktop.autostart-decided") }
func AutostartFixed() Message   { return of("desktop.autostart-fixed") }
