// Package session runs the actions of an Open Job Description job on this machine: environments are entered in their
// order, tasks run one after another, and environments are left in reverse, also after a failure.
//
//	New ──▶ Enter … ──▶ Run … ──▶ Close
//	          │           │         └── leaves all environments that were entered or attempted, ends what is left of
//	          │           │             their processes, and removes the folder
//	          └───────────┴── an action: files are written, format strings resolved, the command started; its output is
//	                          read line by line for openjd_env, openjd_progress and the like, and masked
//
// A failed, canceled or overdue action ends the session: Enter and Run refuse from then on, and Close is left. A
// process that an action leaves behind, such as the daemon of an adaptor, goes on until Close.
//
// It is for Linux. Read next: session.go (what a session holds), action.go (how an action runs), message.go (its
// output).
package session
