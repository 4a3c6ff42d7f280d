// Package sim simulates the life of an office again and again, in virtual time. The whole agent works against the embedded
// service in one process; only the network, the clock, the desktop, the keyring and the people are simulated. A single seed
// decides everything that happens; it is printed, and replays the run.
//
// A run is a world in a bubble (testing/synctest) that plays steps, one after the other, until one breaks a promise. Then the
// run is shrunk to the shortest list of steps that still breaks it, and printed as an entry for the table in
// regressions_test.go.
//
//	step_test.go        a step is a line of text; a life is a list of them, drawn from a seed. All kinds of steps, which
//	                    officesteps_test.go and othersteps_test.go implement
//	wire_test.go        the connections to the services, and of the events back; wirefaults_test.go their failures
//	world_test.go       the computer, the services, the program; life_test.go how it starts, ends and is killed;
//	                    people_test.go its users, the keyring, and a colleague with another program
//	model_test.go       what must be true after each step, checked by monitors: one for each promise, with its own state and with
//	                    a list of what it does not check. stored_test.go events and their record, saved_test.go files and their
//	                    list, sent_test.go packages, withdrawals and what the settings ask for, news_test.go notifications,
//	                    health_test.go health and idling, list_test.go what people see of packages, and that a window is told
//	                    of changes, apart_test.go what reaches whom and what nobody may read, settle_test.go what the program
//	                    must do promptly while nothing disturbs it, and what must be true once all is well again. The model shares no code with the agent: it sees what
//	                    the services did, what the inbox answered, the files, the notifications, and what the agent shows to
//	                    people
//	trials_test.go      situations that rarely come about by chance, each with what the program must do in it; contracts_test.go
//	                    those about corrections, moving, restoring and undoing
//	desks_test.go       the office's other desks, and failures between them and the hub; stream_test.go the stand-in for NATS
//	sim_test.go         plays a run, traces it, and ends one that loops; simulate_test.go plays many, in processes, and shrinks
//	                    one that breaks a promise
//	turns_test.go       makes the goroutines of a life take turns that only the seed decides
//	faults_test.go      plants the faults in the folder faults, one at a time, and counts those that are found
//
// # How to add something
//
// A step: write do, which gets the world and the step (its arguments are s.number(0), s.span(0) and s.word(0)), and add an entry
// to verbs: its frequency (send has 20 and sign 50), a function that draws its arguments, or nil, and do. Requests to the program
// go through w.ask, because the program may hang or be killed meanwhile. Tell the model what it must know
// (w.model.sent.promised, happens) before it happens. If a step cannot disturb the program, add it to quietVerbs, so that duties
// stay due.
//
// A trouble: add an entry to troubles: it gets the request, forwards it or not (y.next.RoundTrip), and returns the answer. It is
// applied to random parts of the service; if it may affect only one, say so in drawTrouble.
//
// A monitor: add a file with a struct for its state, and a comment that says which promise it checks and what it does not check;
// create it in newModel; call it in check, which runs after each step, or in rests, when nothing is in progress. m.breaks reports
// a broken promise: the text before the first colon identifies it while a run is shrunk. undisturbedSince and calmSince tell
// since when the program has had no excuse. What must be done within a time while nothing disturbs the program is a duty (w.owes);
// a request of people that must succeed meanwhile is passed to w.answered. Code that runs in the agent's goroutines (told, answered, acknowledged) takes a lock.
//
// A trial: add an entry to trials. It begins in a world in which nothing is wrong: w.known sends a package, w.fails makes
// something fail, w.at makes something happen at a point of the program's work, w.calmly lets time pass and ends the trial if a
// promise was broken. Afterwards the connections are repaired automatically; the trial must restore everything else itself.
//
// To run one alone, write its steps into regressions_test.go ("1m0s trial expiry") and run that test; COUNTERSIGN_SIM_LOUD=1
// prints everything that happens. Then show that it finds a fault: add a file to faults that says what is wrong and, for each
// source file, which text to replace by what (make simulate-faults FAULT=its name). Also play new seeds: make simulate TIME=2m
// must find nothing.
//
// # Why a run replays
//
// A run replays exactly as long as several goroutines share no source of random numbers: draw with keyed, by the identity of a
// thing, and let things happen at distinct instants (between). A step runs while everything else waits for time to pass. When
// several goroutines wake at the same instant, the runtime decides their order, partly by the real clock and by chance. So lives
// are played by this program compiled again, with a runtime that is deterministic in that respect (turns_test.go, and
// turns/runtime.edits for the changes), and garbage is collected while nothing else runs. Measured on a busy computer, on one
// processor, each seed twice: without that runtime 13 of 20 seeds had the same trace after the first hundred steps, with it all
// 20. In the other seven a request was made some milliseconds earlier or later, and then up to 13 in a thousand were additional.
// A whole life has ten times as many steps, and shrinking it takes dozens of runs.
//
// That program reads JSON with the future internals of encoding/json, in half the time and with the same results: lives were the
// same with both. The trace, whose checksum distinguishes runs, sorts what happens at the same instant.
//
// Where a process can have its own disks (Linux name spaces), the disk can be full; elsewhere it never is. The effect of a power
// cut on unflushed data is not simulated here: package e2e does that.
package sim
