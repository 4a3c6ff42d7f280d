package message

// Withdrawing packages, and correcting them.

func SignedBeforeWithdrawn() Message  { return of("withdrawal.signed-before") }
func ExpiredBeforeWithdrawn() Message { return of("withdrawal.expired-before") }
func CannotWithdrawHere() Message     { return of("withdrawal.not-offered") }
func MayNotWithdraw() Message         { return of("withdrawal.not-allowed") }
func WillBeWithdrawn() Message        { return of("withdrawal.later") }
func NothingToWithdraw() Message      { return of("withdrawal.not-sent") }
func SignedAlready() Message          { return of("withdrawal.signed-already") }
func ExpiredAlready() Message         { return of("withdrawal.expired-already") }
func NoSuchPackage(id string) Message { return of("withdrawal.no-such-package", Name("ID", id)) }

func Withdrew(who, called string) Message {
	return of("withdrawal.withdrew", Text("Who", who), Package("Package", called))
}

func Withdrawn(called string) Message { return of("withdrawal.done", Package("Package", called)) }

func WithdrawnSaying(text string) Message { return of("withdrawal.saying", Text("Text", text)) }

func NotWithdrawn(called string) Message {
	return of("withdrawal.not-done", Package("Package", called))
}

func CorrectedWaits(called string) Message {
	return of("withdrawal.corrected-waits", Package("Package", called))
}

func CorrectedTooLate(called string) Message {
	return of("withdrawal.corrected-too-late", Package("Package", called))
}

func CorrectedNotWithdrawn(called string) Message {
	return of("withdrawal.corrected-not-withdrawn", Package("Package", called))
}

func WithdrawalLost() Message              { return of("withdrawal.lost") }
func NobodyKnowsWhetherWithdrawn() Message { return of("withdrawal.unknown") }

func WithdrawalLeft(called string) Message {
	return of("withdrawal.left", Package("Package", called))
}

func WithdrawalUnconfirmed(called string) Message {
	return of("withdrawal.unconfirmed", Package("Package", called))
}

func WithdrawalsUnconfirmed(n int) Message { return of("withdrawal.unconfirmed-many", Count("N", n)) }
