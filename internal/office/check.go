package office

import (
	"time"

	"countersign/internal/message"
)

// CheckResult is how a step went.
type CheckResult string

const (
	CheckUnknown  CheckResult = "unknown"   // not tried, or there is nothing to try
	CheckUnderWay CheckResult = "under_way" // it is being tried
	CheckFine     CheckResult = "fine"
	CheckWrong    CheckResult = "wrong"
)

// Check is one step of the way to the service and back, and how it went. It holds no secret.
type Check struct {
	Step   message.Message // what the step is called
	Result CheckResult
	Found  message.Message // what was found, or what is wrong and what to do about it
	At     time.Time       // since when, or when; zero where that says nothing
}
