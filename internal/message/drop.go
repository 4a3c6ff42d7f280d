package message

// What is dragged onto the window and is no file that can be taken as it is.

func DropNoFile() Message { return of("drop.no-file") }
func DropSilent() Message { return of("drop.silent") }

// DropNotWhole is of a file that the other program did not hand over to its end, or not as it had said.
func DropNotWhole(file string) Message { return of("drop.not-whole", Name("File", file)) }

func DropTooLarge(file string, most int64) Message {
	return of("drop.too-large", Name("File", file), Bytes("Most", most))
}

func DropTooMany(most int) Message { return of("drop.too-many", Count("N", most)) }

func DropNotKept(file string) Message { return of("drop.not-kept", Name("File", file)) }
