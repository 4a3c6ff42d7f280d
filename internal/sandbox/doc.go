// Package sandbox is the whole electronic signature service on this machine: the authorization server, the API, the
// pages where people sign, the events, and an admin port that makes it misbehave on request. It is the embedded
// service of the demo, the sandbox command, and the counterpart of the tests.
//
// It promises to follow interface.md to the letter, service-facts.md where that is silent, and the RFCs where both
// are; to keep everything it was told when it is killed and started again on the same folder; to sign the exact
// bytes it delivers; and to leave no goroutine behind after Close.
//
// It must not know any other package of this program, and above all not esign: two independent readings of
// interface.md check each other. It is made for one machine and for trying things out: whoever reaches its address
// may act as any of its people.
package sandbox
