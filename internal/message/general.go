package message

// What belongs nowhere else.

func Unexpected() Message     { return of("general.unexpected") }
func Stopped() Message        { return of("general.stopped") }
func LookOnItsPages() Message { return of("general.look-on-its-pages") }
