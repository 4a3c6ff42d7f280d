package proxy

import (
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAScriptThatNeverEndsIsBegunOnce(t *testing.T) {
	noEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		over := make(chan struct{})
		f := &Finder{Ask: alone(func(to *url.URL) (Answer, error) {
			begun.Add(1)
			<-over
			way, err := parseWay("proxy.test:3128")
			return Answer{[]*url.URL{way}, Script}, err
		})}
		for _, host := range []string{"sign.test:443", "auth.test:443"} {
			for range 5 {
				start := time.Now()
				a, err := f.Find(t.Context(), host)
				if err != nil || a.First() != nil || a.Source != Unread {
					t.Fatalf("the way is %+v, %v", a, err)
				}
				if took := time.Since(start); took > askTime {
					t.Errorf("it waited for %v", took)
				}
				time.Sleep(keepTime)
			}
		}
		if n := begun.Load(); n != 1 {
			t.Errorf("the script was begun %d times", n)
		}
		close(over)
		synctest.Wait()
		if a, err := f.Find(t.Context(), "sign.test:443"); err != nil || a.Name() != "proxy.test:3128" {
			t.Errorf("once it has ended, the way is %+v, %v", a, err)
		}
	})
}

func TestAScriptNamesNoMoreProxiesThanCanBeTried(t *testing.T) {
	noEnvironment(t)
	f := &Finder{Ask: alone(func(*url.URL) (Answer, error) { return Answer{make([]*url.URL, 10_000), Script}, nil })}
	if a, err := f.Find(t.Context(), "sign.test:443"); err != nil || len(a.Ways) > maxWays {
		t.Errorf("%d ways, %v", len(a.Ways), err)
	}
}
