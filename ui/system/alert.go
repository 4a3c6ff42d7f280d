package system

// Alert shows a message in a box of the desktop's own, beside the program's window or without one, and reports whether anybody
// can have seen it. It returns when the person has read it, on Linux as soon as the box is there. The text is for people.
func Alert(title, text string) bool { return alert(title, text) }
