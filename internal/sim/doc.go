// Package sim lives through an office's life again and again, in virtual time. The whole agent works against the embedded
// service in one process; nothing is replaced but the network, the clock, the desktop, the keyring and the people. All that
// happens is decided by one seed, which is printed and replays the run.
//
//	step_test.go    what can happen: a step is a line of text, a life is a list of them drawn from a seed
//	verbs_test.go   what people, the computer and the services do: to add a step, add an entry to verbs
//	wire_test.go    the way from the program to the services; wirefaults_test.go what goes wrong there: to add a fault,
//	                add an entry to troubles
//	proxy_test.go   the way of the events from the services to the program, and what goes wrong there
//	world_test.go   the computer, the services, the program: started, killed, asked
//	model_test.go   what must be true after each step: to add a promise, add what check looks at. The model shares no code
//	                with the agent; settle_test.go judges what must be true once everything is well again
//	sim_test.go     a run: a world in a bubble (testing/synctest) that plays steps until one breaks a promise
//
// A run replays exactly as long as nothing is drawn from what several goroutines share: draw with keyed, by what a thing
// is, and let things happen at instants of their own (between). Steps happen while everything else waits.
package sim
