// Package sim lives through an office's life again and again, in virtual time. The whole agent works against the embedded
// service in one process; nothing is replaced but the network, the clock, the desktop, the keyring and the people. All that
// happens is decided by one seed, which is printed and replays the run.
//
// A run is a world in a bubble (testing/synctest) that plays steps, one after the other, until one breaks a promise. Such a run
// is shrunk to the shortest list of steps that still does, and printed as an entry for the table in regressions_test.go.
//
//	step_test.go        a step is a line of text; a life is a list of them, drawn from a seed
//	verbs_test.go       all kinds of steps; officesteps_test.go and othersteps_test.go say what they do
//	wire_test.go        the way from the program to the services, and of the events back; wirefaults_test.go what goes wrong on it
//	world_test.go       the computer, the services, the program; life_test.go how it starts, ends and is killed;
//	                    people_test.go who asks something of it, the keyring, and a colleague with another program
//	model_test.go       what must be true after each step, by monitors, one a promise, each with its own state and with what it is
//	                    silent about: stored_test.go events, record_test.go the record of them, saved_test.go files, index_test.go the list of them, sent_test.go
//	                    packages, news_test.go notifications, withdrawals_test.go withdrawals, health_test.go health,
//	                    list_test.go what people see of packages, apart_test.go what reaches whom, secrets_test.go what nobody may
//	                    read, growth_test.go idling; wishes_test.go what the settings ask for; settle_test.go what must have come
//	                    true once all is well again. The model shares no code with the agent: it sees what the services did, what
//	                    the inbox answered, the files, the notifications, and what the agent shows to people
//	trials_test.go      situations that chance brings about too rarely, each with what the program must do in it; contracts_test.go
//	                    those about corrections, moving, restoring and what is taken back, scans_test.go those of folders that send
//	desks_test.go       the office's other desks, and what goes wrong between them and the hub; stream_test.go what stands in for NATS there
//	duties_test.go      what the program owes at once while nothing disturbs it
//	sim_test.go         plays a run, traces it, and ends one that goes round in circles; simulate_test.go plays many, in processes,
//	                    and shortens one that breaks a promise
//	turns_test.go       has the goroutines of a life take turns that the seed alone decides
//	faults_test.go      plants the faults of the folder faults, one at a time, and counts those that are found
//
// # How to add something
//
// A step: write do, which gets the world and the step (s.number(0), s.span(0) and s.word(0) are its arguments), and add an entry to
// verbs: how often it is drawn, against 20 of send and 50 of sign; what draws its arguments, or nil; do. What somebody asks of the
// program goes through w.ask, for the program may hang, or be killed meanwhile. Tell the model what it is to know of (w.model.sent.promised,
// happens), before it happens. A step that cannot disturb the program is added to quietVerbs, so that duties stay owed.
//
// A trouble: add an entry to troubles: it gets the request, passes it on or not (y.next.RoundTrip), and returns what comes back. Chance
// strikes every part of the service with it; where it may strike one alone, say so in drawTrouble.
//
// A monitor: add a file with a struct that has the state, and a comment that says which promise it judges and what it is silent about;
// make it in newModel; call it in check, where it looks after each step, or in rests, where nothing is under way. m.breaks says which
// promise is broken: what stands before the first colon is what a run is shrunk for. undisturbedSince and calmSince tell since when
// the program has had no excuse. What runs in the agent's goroutines (told, answered, acknowledged) takes a lock.
//
// A trial: add an entry to trials. It begins in a world in which nothing is wrong: w.known sends a package, w.fails has something go wrong,
// w.at has something happen at a point of the program's work, w.calmly lets time pass and ends the trial where a promise was broken. What
// a trial leaves wrong on the wire is mended for it; the rest it puts right itself.
//
// To see one alone, write its steps into regressions_test.go ("1m0s trial expiry") and run that test; COUNTERSIGN_SIM_LOUD=1 shows all
// that happens, as it happens. Then show that it bites: add a file to faults, with what is wrong, and for each source what to find and
// what to put in its place (make simulate-faults FAULT=its name), and play fresh seeds: make simulate TIME=2m must find nothing.
//
// # Why a run replays
//
// A run replays exactly as long as nothing is drawn from what several goroutines share: draw with keyed, by what a thing
// is, and let things happen at instants of their own (between). A step happens while everything else waits for time to pass.
// The order in which goroutines go on that woke at the same instant is the runtime's, in which a real clock and chance take
// part. So lives are played by this program compiled once more, with a runtime in which they do not (turns_test.go, and
// turns/runtime.edits for what is changed in it), and memory is tidied up while nothing else goes on. Measured on a busy
// computer, on one processor, each seed twice: without that runtime 13 of 20 had the same trace after the first hundred steps, with it
// all 20. Of the other seven a request was made some milliseconds earlier or later, and then there were up to 13 more of them in a
// thousand. A whole life has ten times as many steps, and to shrink one it is played dozens of times.
//
// That program reads JSON with what is to take the place of encoding/json within, in half the time and with the same answers: lives
// were the same with both. The trace, whose sum tells two runs apart, puts what happens at one instant in order.
//
// Where the system lets a process have disks of its own (Linux name spaces), the disk can be full; elsewhere it never is. What
// a power cut does to what was not flushed is not simulated here: package e2e pulls the plug.
package sim
