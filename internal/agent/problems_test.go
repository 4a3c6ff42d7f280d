package agent

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/office"

	"countersign/internal/agent/health"
	"countersign/internal/message"
)

// toldProblems counts the notifications of an agent in a bubble.
func toldProblems(t *testing.T, adjust func(*office.Settings)) (a *Agent, count func(text string) int) {
	t.Helper()
	var mu sync.Mutex
	var told []string
	a = openExecuted(t, &executedService{}, func(p *Params) {
		p.Notify = func(title, body string) error {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, title+" | "+body)
			return nil
		}
	})
	if adjust != nil {
		s := a.Settings()
		adjust(&s)
		if err := a.Configure(t.Context(), s, office.Secrets{}); err != nil {
			t.Fatal(err)
		}
	}
	return a, func(text string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, x := range told {
			if strings.Contains(x, text) {
				n++
			}
		}
		return n
	}
}

const folderGone = "The folder “Dr. Signed” cannot be found. You can also choose another folder."

func TestAProblemThatLastsIsToldOnceAndOnceMoreEachDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, count := toldProblems(t, nil)
		runParts(t, a, PartOutbox)
		a.Health.Set(health.FolderFails, message.Plain(folderGone))
		a.Health.Set(health.ServiceFails, message.Plain("The signing service did not answer."))
		time.Sleep(health.FolderFails.After - time.Second)
		if n := count(""); n != 0 {
			t.Errorf("told %d times before it has stood for %v", n, health.FolderFails.After)
		}
		time.Sleep(2 * time.Second)
		if n := count("The folder “Dr. Signed” cannot be found. | You can also choose another folder."); n != 1 || count("") != 1 {
			t.Errorf("told %d times, %d in all", n, count(""))
		}
		time.Sleep(problemAgain - time.Minute)
		if n := count("folder"); n != 1 {
			t.Errorf("told %d times on the first day", n)
		}
		time.Sleep(2 * time.Minute)
		if n := count("folder"); n != 2 {
			t.Errorf("told %d times after a day", n)
		}
		// One that comes and goes is one problem; one that comes back the next week is another.
		a.Health.Clear(health.FolderFails)
		time.Sleep(10 * time.Minute)
		a.Health.Set(health.FolderFails, message.Plain(folderGone))
		time.Sleep(time.Hour)
		if n := count("folder"); n != 2 {
			t.Errorf("told %d times after it came back", n)
		}
		a.Health.Clear(health.FolderFails)
		time.Sleep(7 * 24 * time.Hour)
		a.Health.Set(health.FolderFails, message.Plain(folderGone))
		time.Sleep(health.FolderFails.After + time.Second)
		if n := count("folder"); n != 3 {
			t.Errorf("told %d times a week later", n)
		}
	})
}

func TestAProblemIsToldAfterThePauseAndNotAgainAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, count := toldProblems(t, nil)
		runParts(t, a, PartOutbox)
		a.Pause(time.Now().Add(2 * time.Hour))
		a.Health.Set(health.FolderFails, message.Plain(folderGone))
		time.Sleep(time.Hour)
		if n := count(""); n != 0 {
			t.Errorf("told %d times during the pause", n)
		}
		time.Sleep(time.Hour + 2*problemLook)
		if n := count("folder"); n != 1 {
			t.Errorf("told %d times after the pause", n)
		}
		told := map[string]toldProblem{"folder": {Told: time.Now()}}
		a.Health.Clear(health.FolderFails) // as after a start, when the issue is found anew
		a.Health.Set(health.FolderFails, message.Plain(folderGone))
		time.Sleep(health.FolderFails.After)
		if facts, _ := a.problemsDue(told); len(facts) != 0 {
			t.Errorf("told again after a start: %+v", facts)
		}
		// A clock that ran fast when it was told must not silence the problem for longer than a day.
		told["folder"] = toldProblem{Told: time.Now().Add(1000 * time.Hour)}
		if facts, _ := a.problemsDue(told); len(facts) != 0 || time.Until(told["folder"].Told) > 0 {
			t.Errorf("%+v, noted %+v", facts, told)
		}
	})
}

func TestNobodyIsToldOfWhatTheyDidThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, count := toldProblems(t, nil)
		err := a.current.Change(func(o current) (current, error) { // they signed out
			o.account = account{}
			return o, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		runParts(t, a, PartOutbox)
		a.Health.Set(health.NotSetUp, message.Plain("Countersign is not set up yet."))
		a.Health.Set(health.SignedOut, message.Plain("You are not signed in."))
		a.Health.Set(health.AddressClosed, message.Plain("There is no connection to ngrok."))
		a.Health.Set(health.ServiceFails, message.Plain("The signing service did not answer."))
		time.Sleep(time.Hour)
		if n := count(""); n != 0 {
			t.Errorf("told %d times", n)
		}
		a.Health.Clear(health.ServiceFails)
		time.Sleep(time.Minute)
		if n := count("ngrok"); n != 1 {
			t.Errorf("told %d times of the address alone", n)
		}
	})
}
