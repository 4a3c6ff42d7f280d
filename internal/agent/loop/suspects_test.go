package loop

import "testing"

func TestTroubleWithOneThingIsToldFromTroubleWithTheService(t *testing.T) {
	var s Suspects
	if s.Fail("a") {
		t.Error("a first failure says nothing")
	}
	if s.Fail("a") {
		t.Error("nothing else was answered between the two")
	}
	s.Answered()
	if !s.Fail("a") || s.Fail("a") {
		t.Error("an answer to something else makes the trouble that thing's own, once")
	}
	s.Answered()
	s.Clear("a")
	if s.Fail("a") {
		t.Error("it worked between the two")
	}
}
