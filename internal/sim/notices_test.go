package sim

import (
	"slices"
	"time"

	"countersign/internal/office"
)

// heardWithin is how long it may take until people are told that another desk gets the events.
const heardWithin = time.Hour

// noticesAbsence has the program be away for a moment in three ways, and judges that it asks about everything each time:
// what it asked about minutes ago is not due for any other reason.
func (m *model) noticesAbsence() {
	w := m.w
	for _, away := range []func(){
		func() { doQuit(w, step{args: []string{"1s"}}) },
		func() { w.signIn() },
		func() { doSleep(w, step{args: []string{"2m"}}) },
	} {
		if len(m.check()) > 0 {
			return
		}
		w.stirred = time.Now()
		away()
		w.sleep(sweepWithin + time.Minute)
	}
	m.check()
}

// noticesDesk has another desk get the events, and judges that people are told so once something happens that they do not
// hear of otherwise, and that the events come back when they ask for it.
func (m *model) noticesDesk() {
	w := m.w
	service := w.services[w.current]
	ours := slices.Contains(service.EndpointURLs(), w.settings.PublicURL+"/webhook")
	if !ours || w.settings.Tunnel != office.TunnelExternal || len(m.check()) > 0 {
		return
	}
	name, err := w.stranger.send(service)
	if err != nil {
		m.breaks("the world cannot send from elsewhere: %v", err)
		return
	}
	w.sleep(40 * time.Minute) // it is known, and was asked about
	doDesk(w, step{args: []string{"takes"}})
	for _, t := range service.turns() {
		if t.name != name {
			continue
		}
		w.sign(service, t)
		break
	}
	w.sleep(heardWithin)
	if !m.health.says("endpoint-lost") {
		m.breaks("health says what is wrong within its time: another desk gets the events, and %v later nothing is said: %v", heardWithin, m.health.issues())
	}
	w.mend(0)
	w.sleep(time.Minute)
	m.lookAtEndpoint()
	m.check()
}
