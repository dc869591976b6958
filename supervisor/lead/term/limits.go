package term

import "time"

// Every queue and wait of a term.
const (
	inboxSize   = 1024                   // events that wait for the loop
	turnEvents  = 512                    // events stepped before the loop looks at commits again,
	turnFor     = 50 * time.Millisecond  // and for how long
	maxWaiting  = 20_000                 // requests that wait for a reply
	patientFrom = 100 * time.Millisecond // an unread report as old as this has answers ask workers for patience,
	patientFor  = 5 * time.Second        // of at most this: below any sensible liveness
	tickEvery   = 100 * time.Millisecond
	viewEvery   = 50 * time.Millisecond // least time between two views
	viewPace    = 20                    // and so many times what the last one took: a large farm has other work
	viewAtLeast = time.Second           // a quiet farm's view is renewed this often
	// AskFor is the longest wait for a reply, except for replies to workers.
	AskFor       = 30 * time.Second
	closeFor     = 2 * time.Second // giving a term back
	backoffLeast = 200 * time.Millisecond
	backoffMost  = 5 * time.Second
	chanceJobs   = 50_000 // numbers after a restore have a part by chance below these
	chanceTries  = 5_000
	settleStops  = 5000            // attempts stopped in one commit after a restore
	roomEvery    = 2 * time.Second // a read-only term looks this often whether there is room
	roomAnyway   = time.Minute     // and tries to write without an answer to that
)
