package message

// The pattern that names files.

func PatternTooDeep(n int) Message            { return of("pattern.too-deep", Number("N", n)) }
func PatternEmptyFolder() Message             { return of("pattern.empty-folder") }
func PatternLeavesFolder(text string) Message { return of("pattern.leaves-folder", Name("Text", text)) }
func PatternNotOpened() Message               { return of("pattern.not-opened") }
func PatternNotClosed() Message               { return of("pattern.not-closed") }

func PatternUnknown(name string, names []string) Message {
	return of("pattern.unknown", Text("Name", name), Names("Names", names))
}
