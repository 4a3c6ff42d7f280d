package officetest

import (
	"context"
	"slices"

	"countersign/internal/message"
	"countersign/internal/office"
)

// Way is a way to the service and back on which everything works.
func Way() []office.Check {
	fine := func(step, found message.Message) office.Check {
		return office.Check{Step: step, Result: office.CheckFine, Found: found}
	}
	list := []office.Check{
		fine(message.StepProxy(), message.WaySystem("proxy.office.example:8080")),
		fine(message.StepSignInAddress(), message.Answers()),
		fine(message.StepService(), message.Answers()),
		fine(message.StepSignIn(), message.SignedInNowAs("office@example.com")),
		fine(message.StepNgrokName(), message.NameByProxy()),
		fine(message.StepNgrokConnect(), message.ConnectionMade()),
		fine(message.StepNgrokTLS(), message.Secure()),
		fine(message.StepNgrokTunnel(), message.Answers()),
		fine(message.StepAddress(), message.AddressOpen("https://office.ngrok.app")),
		fine(message.StepEndpoint(), message.Registered("https://office.ngrok.app/webhook")),
		fine(message.StepEvent(), message.EventArrived()),
	}
	for i := len(list) - 3; i < len(list); i++ {
		list[i].At = Now.Add(-3 * 3600e9)
	}
	return list
}

// OpenedWay is one on which the network opens the encryption, so that ngrok is out of reach.
func OpenedWay() []office.Check {
	list := Way()
	wrong := func(i int, found message.Message) {
		list[i].Result, list[i].Found = office.CheckWrong, found
	}
	opened := message.ConnectionInspected("Office inspection", "connect.ngrok-agent.com:443")
	wrong(6, opened)
	list[7].Result, list[7].Found = office.CheckUnknown, message.NotReached()
	wrong(8, message.SameReason())
	return list
}

// Connection is env.Office's.
func (o *Office) Connection(context.Context) []office.Check {
	return read(o, func() []office.Check {
		known := slices.Clone(o.Steps)
		if known == nil {
			known = Way()
			for i := 4; i < 8; i++ {
				known[i].Result, known[i].Found = office.CheckUnknown, message.NotTried()
			}
		}
		return known
	})
}

// TryConnection is env.Office's.
func (o *Office) TryConnection(ctx context.Context, show func([]office.Check)) []office.Check {
	found := Way()
	if o.OnTry != nil {
		found = o.OnTry(found)
	}
	show(found)
	return found
}

// TryNgrok is env.Office's.
func (o *Office) TryNgrok(ctx context.Context, _ office.Settings, show func([]office.Check)) []office.Check {
	found := Way()
	if o.OnTry != nil {
		found = o.OnTry(found)
	}
	show(found[4:8])
	return found[4:8]
}

// Hosts is env.Office's.
func (o *Office) Hosts() []string {
	return []string{"sign.example.com:443", "connect.ngrok-agent.com:443"}
}
