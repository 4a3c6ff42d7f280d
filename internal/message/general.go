package message

func Unexpected() Message { return of("general.unexpected") }
func Stopped() Message    { return of("general.stopped") }
