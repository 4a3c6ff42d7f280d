package message

// Why the program does not start, or not with its window.

func DataFolderUnnamed() Message { return of("start.data-folder-unnamed") }

func DataFolderNotMade(folder string) Message {
	return of("start.data-folder-not-made", Text("Folder", folder))
}

func DataFolderNotWritten(folder string) Message {
	return of("start.data-folder-not-written", Text("Folder", folder))
}

func DemoFolderNotMade() Message { return of("start.demo-folder-not-made") }
func OtherIsSilent() Message     { return of("start.other-is-silent") }
func WindowNotBuiltIn() Message  { return of("start.window-not-built-in") }
func NoDisplay() Message         { return of("start.no-display") }

// Then what goes on without the window, where anything does, then what helps.
func NoOpenGL() Message           { return of("start.no-opengl") }
func WorksWithoutWindow() Message { return of("start.works-without-window") }
func OpenGLHelps() Message        { return of("start.opengl-helps") }

func StartFailed(log string) Message  { return of("start.failed", Text("Log", log)) }
func StartCrashed(log string) Message { return of("start.crashed", Text("Log", log)) }

// EndedByFault is told by the next start.
func EndedByFault(log string) Message { return of("start.ended-by-fault", Text("Log", log)) }

func CommandWrong(why string) Message { return of("start.command-wrong", Said("Why", why)) }
