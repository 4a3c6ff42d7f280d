package agent

import "time"

// Pause raises no notifications until then; a moment gone by ends the pause.
func (a *Agent) Pause(until time.Time) {
	a.mu.Lock()
	a.snooze = cooldown{a.now(), until.Round(0)}
	a.mu.Unlock()
	a.watchers.signal(StatusChanged)
}

// Paused returns until when notifications are paused; zero when they are not.
func (a *Agent) Paused() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.snooze.over(a.now()) {
		return time.Time{}
	}
	return a.snooze.until
}

// silenced reports that f is not to be raised: people chose not to be told, or not now. What happened stays in the
// activity list.
func (a *Agent) silenced(f fact) bool {
	s := a.Settings()
	switch {
	case s.Notify == NotifyNone, s.Notify == NotifyExecuted && !f.executed:
		return true
	case !a.Paused().IsZero():
		return true
	default:
		return s.quietAt(a.now().Local())
	}
}

// quietAt reports whether t lies in the quiet hours, which may go past midnight.
func (s Settings) quietAt(t time.Time) bool {
	from, err1 := time.Parse("15:04", s.QuietFrom)
	to, err2 := time.Parse("15:04", s.QuietTo)
	if err1 != nil || err2 != nil {
		return false
	}
	minute := func(t time.Time) int { return 60*t.Hour() + t.Minute() }
	now, begin, end := minute(t), minute(from), minute(to)
	if begin <= end {
		return begin <= now && now < end
	}
	return now >= begin || now < end
}
