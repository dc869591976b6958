package store

import (
	"context"
	"errors"
	"time"

	"qb/supervisor/job/facts"
)

// ErrTermOver says that another supervisor leads, or that a commit's outcome is unknown. The term ends
// and the farm is rebuilt from the rows.
var ErrTermOver = errors.New("the term is over")

// Store gives terms to one leader at a time.
type Store interface {
	// Lead waits until this process leads, or ctx ends.
	Lead(ctx context.Context) (Term, error)
}

// Leader is what the rows say of who leads.
type Leader struct {
	Name   string        // as given to Advertise: its URL; else host and process id
	Epoch  int64         // of its term
	Silent time.Duration // since it last proved its term; more than TrustFor: it leads no more

	Promise facts.PromiseFacts // the longest that answers may have made
}

// Term is a period of leadership on one database session.
type Term interface {
	// Epoch is the term's number; it only grows.
	Epoch() int64
	// Began returns when the term began, by the database's clock.
	Began() time.Time
	// Descent is of the database in which the term leads.
	Descent() Descent
	// Succeed ends the term, for hosts obeyed a higher one: the rows were put back. The next term is above both.
	Succeed(ctx context.Context, h HigherTerm) error
	// Supersede ends the term, for hosts obey a copy of this database, or a server that was promoted. No term follows
	// here.
	Supersede(ctx context.Context, h HigherTerm) error
	// Settle says that hosts have been listened to since the rows were put back, and which numbers they know at most.
	Settle(ctx context.Context, lastJob facts.JobID, lastAttempt int) error
	// Load reads all that the farm starts from.
	Load(ctx context.Context) (facts.Facts, error)
	// Commit makes the writes durable in one transaction that checks the epoch. Any error means the
	// outcome must be taken as unknown: the caller ends the term.
	Commit(ctx context.Context, writes []facts.Write) error
	// Check touches the epoch row, which proves that the term is still valid. The shell calls it every 2 s.
	Check(ctx context.Context) error
	// Close gives the lock back.
	Close(ctx context.Context)
}

// CheckEvery is how often a leader proves its term. TrustFor is how long one proof may be relied on for answers to
// workers, how long a commit or check may take before the term ends, and how long Postgres waits for a silent leader.
const (
	CheckEvery = 2 * time.Second
	TrustFor   = 5 * time.Second
	ReadFor    = 4 * time.Second // one read from the database
)

// Descent says which database a term leads in.
type Descent struct {
	Lineage string // of the database; a copy has another
	// Timeline is of the database's server and rises with each promotion of a replica; 0: not known.
	Timeline int64
	// PutBack says that the rows are older than what hosts may know, and that no term has settled that yet: hosts
	// are to be listened to before anything is given out.
	PutBack bool
	// Moved says, with PutBack, that the lineage is new: hosts may still obey another database.
	Moved bool
	// Past are the last of the terms before this one, the latest first, at most PastTerms. With PutBack there are none,
	// and after that those since the restore was settled.
	Past []PastTerm
}

// PastTerms is of how many terms before its own a term knows when they began.
const PastTerms = 31

// PastTerm is a term that is over.
type PastTerm struct {
	Epoch int64
	Began time.Time
}

// HigherTerm is a term that the rows do not know, of which a worker had proof.
type HigherTerm struct {
	Lineage string
	Epoch   int64  // the rows are raised to it: not below the own one, unless this database is superseded
	Host    string // whose worker it was
	// Timeline is of its server, 0 if not known. One above the own says that the farm has moved on from this server.
	Timeline int64
}

// FarmGap is the least distance of numbers after a restore to those of the rows.
const FarmGap = 1000
