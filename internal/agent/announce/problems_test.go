package announce

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
)

var folderGone = message.WaitForFolder("Dr. Signed", 1)

func TestAProblemThatLastsIsToldOnceAndOnceMoreEachDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.Health.Set(health.FolderFails, folderGone)
		r.Health.Set(health.ServiceFails, message.ServiceSilent())
		time.Sleep(health.FolderFails.After - time.Second)
		expect(t, r.count(""), 0, "told %d times before it has stood for %v", health.FolderFails.After)
		time.Sleep(2 * time.Second)
		if n := r.count("The folder “Dr. Signed” cannot be found. | 1 file is waiting until the folder is back. You can also choose another folder."); n != 1 || r.count("") != 1 {
			t.Errorf("told %d times, %d in all", n, r.count(""))
		}
		time.Sleep(problemAgain - time.Minute)
		expect(t, r.count("folder"), 1, "told %d times on the first day")
		time.Sleep(2 * time.Minute)
		expect(t, r.count("folder"), 2, "told %d times after a day")
		// One that comes and goes is one problem; one that comes back the next week is another.
		r.Health.Clear(health.FolderFails)
		time.Sleep(10 * time.Minute)
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(time.Hour)
		expect(t, r.count("folder"), 2, "told %d times after it came back")
		r.Health.Clear(health.FolderFails)
		time.Sleep(7 * 24 * time.Hour)
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(health.FolderFails.After + time.Second)
		expect(t, r.count("folder"), 3, "told %d times a week later")
	})
}

func TestAProblemIsToldAfterThePauseAndNotAgainAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.Snooze(time.Now().Add(2 * time.Hour))
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(time.Hour)
		expect(t, r.count(""), 0, "told %d times during the pause")
		time.Sleep(time.Hour + 2*problemLook)
		expect(t, r.count("folder"), 1, "told %d times after the pause")
		told := map[string]toldProblem{"folder": {Told: time.Now()}}
		r.Health.Clear(health.FolderFails) // as after a start, when the issue is found anew
		r.Health.Set(health.FolderFails, folderGone)
		time.Sleep(health.FolderFails.After)
		if facts, _ := r.problemsDue(told, time.Time{}); len(facts) != 0 {
			t.Errorf("told again after a start: %+v", facts)
		}
		// A clock that ran fast when it was told must not silence the problem for longer than a day.
		told["folder"] = toldProblem{Told: time.Now().Add(1000 * time.Hour)}
		if facts, _ := r.problemsDue(told, time.Time{}); len(facts) != 0 || time.Until(told["folder"].Told) > 0 {
			t.Errorf("%+v, noted %+v", facts, told)
		}
	})
}

// What stood when the program ended and is found again after the start has not begun with the start.
func TestAProblemStandsSinceBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since := time.Now()
		first := newService(t, nil)
		first.Health.Set(health.FolderFails, folderGone)
		first.Health.Set(health.SignedOut, message.NotSignedIn())
		time.Sleep(time.Hour)
		first.stop()
		time.Sleep(8 * time.Hour)
		r := newService(t, func(x *testService) { x.before = first })
		stands := func(s health.State) (since time.Time) {
			synctest.Wait()
			for _, i := range r.Health.List() {
				if i.ID == s.ID {
					since = i.Since
				}
			}
			return since
		}
		time.Sleep(time.Minute)
		r.Health.Set(health.FolderFails, folderGone)
		if got := stands(health.FolderFails); !got.Equal(since) {
			t.Errorf("after the start it stands since %v, want %v", got, since)
		}
		r.Health.Clear(health.FolderFails)
		synctest.Wait()
		time.Sleep(time.Minute)
		r.Health.Set(health.FolderFails, folderGone)
		if got := stands(health.FolderFails); !got.Equal(time.Now()) {
			t.Errorf("one that was mended stands since %v, want now", got)
		}
		time.Sleep(foundAgain)
		r.Health.Set(health.SignedOut, message.NotSignedIn())
		if got := stands(health.SignedOut); !got.Equal(time.Now()) {
			t.Errorf("one that was not found again for long stands since %v, want now", got)
		}
	})
}

func TestNobodyIsToldOfWhatTheyDidThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, nil)
		r.Health.Set(health.NotSetUp, message.NotSetUp())
		r.Health.Set(health.SignedOut, message.NotSignedIn())
		r.Health.Set(health.AddressClosed, message.NoConnection())
		r.Health.Set(health.ServiceFails, message.ServiceSilent())
		time.Sleep(time.Hour)
		expect(t, r.count(""), 0, "told %d times")
		r.Health.Clear(health.ServiceFails)
		time.Sleep(time.Minute)
		expect(t, r.count("ngrok"), 1, "told %d times of the address alone")
	})
}

// The network goes as the computer falls asleep, and is back a moment after it woke up.
func TestWhatWentWrongForANightOfSleepIsNoNewsInTheMorning(t *testing.T) {
	t.Run("for the first time", func(t *testing.T) { sleepsOverIt(t, 10*time.Second) })
	t.Run("told the day before", func(t *testing.T) { sleepsOverIt(t, time.Hour) })
}

// sleepsOverIt has the computer sleep for a day when a problem has stood for that long.
func sleepsOverIt(t *testing.T, before time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		r := newService(t, func(x *testService) { x.now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) } })
		r.Health.Set(health.HotFolderFails, folderGone)
		time.Sleep(before)
		told := r.count("")
		slept.Add(int64(25 * time.Hour))
		r.Health.Set(health.ServiceFails, message.ServiceSilent()) // what else is found wanting then
		time.Sleep(time.Minute)
		if n := r.count(""); n != told {
			t.Error("it was told a minute after it woke up")
		}
		r.Health.Clear(health.ServiceFails)
		time.Sleep(health.HotFolderFails.After)
		if n := r.count(""); n != told+1 {
			t.Errorf("what stays wrong was told %d times", n-told)
		}
	})
}
