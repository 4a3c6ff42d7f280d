// Package sim lives through an office's life again and again, in virtual time. The whole agent works against the embedded
// service in one process; nothing is replaced but the network, the clock, the desktop, the keyring and the people. All that
// happens is decided by one seed, which is printed and replays the run.
//
// A run is a world in a bubble (testing/synctest) that plays steps, one after the other, until one breaks a promise. Such a run
// is shrunk to the shortest list of steps that still does, and printed as an entry for the table in regressions_test.go.
//
//	step_test.go        a step is a line of text; a life is a list of them, drawn from a seed
//	verbs_test.go       all kinds of steps. To add one, add an entry to verbs: how often, its arguments, what it does.
//	                    officesteps_test.go and othersteps_test.go say what they do
//	wire_test.go        the way from the program to the services; wirefaults_test.go what goes wrong on it: to add a fault,
//	                    add an entry to troubles
//	proxy_test.go       the way of the events from the services to the program, and what goes wrong on it
//	world_test.go       the computer, the services, the program; life_test.go how it starts, ends and is killed;
//	                    people_test.go who asks something of it; stranger_test.go a colleague with another program
//	model_test.go       what must be true after each step, by monitors, one a promise, each with its own state and with what it is
//	                    silent about: stored_test.go events, saved_test.go files, sent_test.go packages, news_test.go
//	                    notifications, withdrawals_test.go withdrawals, health_test.go health, apart_test.go what reaches whom,
//	                    growth_test.go idling; wishes_test.go what the settings ask for; secrets_test.go what nobody may read;
//	                    list_test.go what people see; settle_test.go what must have come true once all is well again. To add a
//	                    monitor, add a file, and call it in check, where it is looked at after each step, or in rests. The model
//	                    shares no code with the agent: it sees what the services did, what the inbox answered, the files, the
//	                    notifications, and what the agent shows to people
//	trials_test.go      situations that chance brings about too rarely, each with what the program must do in it. To add one, add
//	                    an entry to trials
//	duties_test.go      what the program owes at once while nothing disturbs it; notices_test.go what it notices of an absence
//	                    and of another desk
//	names_test.go       what things from outside are called, and where their files may lie; scans_test.go the folder that sends;
//	                    restore_test.go an office that goes back to a backup; undo_test.go what is taken back
//	sim_test.go         plays a run; simulate_test.go many, in processes; shrink_test.go shortens one; watchdog_test.go ends one
//	                    that goes round in circles
//	turns_test.go       has the goroutines of a life take turns that the seed alone decides
//	faults_test.go      plants the faults of the folder faults, one at a time, and counts those that are found. To add one, add
//	                    a file there: what is wrong, and for each source what to find and what to put in its place
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
