package store

import (
	"context"
	"time"

	"qb/supervisor/job/facts"
)

// JobQuery narrows a list of jobs; the newest come first.
type JobQuery struct {
	IDs    []facts.JobID // nil: all
	User   string        // "": everybody's
	States []facts.JobState

	Name    string     // exactly; "": any
	Cluster string     // it or one below; "": any
	Tags    facts.Tags // without empty values

	ChangedSince  time.Time // jobs that changed in this second or later; zero: all
	FinishedSince time.Time // jobs that have not ended before it; zero: all

	Before facts.JobID // 0: from the newest; else ids below it
	Limit  int         // 0 or more than MaxPage: MaxPage
	Brief  bool        // without environments, long commands and long ranges

	// Known gives what the caller knows of a row, if anything: then nothing is counted for it, which takes long where a
	// job has many attempts. nil: all are counted.
	Known func(facts.JobFacts) (facts.JobView, bool)

	Quantile float64 // of the peaks in facts.PastMemory; 0, or at least 1: the largest
	// Memory estimates the need of a job with these reservations; nil: no need is estimated.
	Memory func(reservations string, past facts.PastMemory) facts.JobMemory
}

// JobRef is a job in short.
type JobRef struct {
	ID    facts.JobID
	State facts.JobState
}

// MaxPage is the most rows that one call returns, whatever limit it is given; 0 asks for as many.
const MaxPage = 10_000

// JobRows are the rows of one job beside its own.
type JobRows interface {
	// Marks of the job, by first item.
	Marks(ctx context.Context) ([]facts.Mark, error)
	// Latest returns the latest attempt of each touched item first..last, by item.
	Latest(ctx context.Context, first, last facts.ItemNo) ([]facts.AttemptFacts, error)
	// FailedBefore tells of the items first..last with failed attempts that are not their end, by item.
	FailedBefore(ctx context.Context, first, last facts.ItemNo) ([]FailedBefore, error)
	// Attempts by (item, number), those after the given one.
	Attempts(ctx context.Context, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error)
	// Found tells what was found in the output of attempts, from one to another by item and number, both included.
	Found(ctx context.Context, first, last facts.AttemptID) (map[facts.AttemptID]facts.Found, error)
}

// Reader answers lists and history from committed rows. It never changes a row but those of tokens.
type Reader interface {
	// Jobs returns rows with their item counts and times derived from the attempts and marks. Numbers that only the live
	// farm has (instances, reason) are zero. Jobs that q.Known returns are used unchanged.
	Jobs(ctx context.Context, q JobQuery) ([]facts.JobView, error)
	// JobRefs lists the same jobs in short, without a look at their attempts.
	JobRefs(ctx context.Context, q JobQuery) ([]JobRef, error)
	// LastChange is the latest time at which a job changed, to the second; zero: none did.
	LastChange(ctx context.Context) (time.Time, error)
	// Facts is the row of a job, without what its attempts tell, which takes long of a million; nil if there is none.
	Facts(ctx context.Context, id facts.JobID) (*facts.JobFacts, error)
	// Record gives a job with marks and attempts to r. It returns false if there is no such job. Of a million attempts it
	// takes seconds.
	Record(ctx context.Context, id facts.JobID, r facts.Recorder) (bool, error)
	// Submission finds the job that a submission token made, 0 if none.
	Submission(ctx context.Context, token string) (facts.JobID, error)
	// Stored returns the bytes that all jobs of an owner take in the database, ended jobs included.
	Stored(ctx context.Context, owner string) (int64, error)
	// Answer finds what a user's change under an Idempotency-Key was answered.
	Answer(ctx context.Context, user, key string) (facts.AnswerFacts, bool, error)
	// Labels tells which jobs of a process group have these labels: the latest of each, and of a submission that became
	// several jobs its last.
	Labels(ctx context.Context, group facts.JobID, labels []string) (map[string]facts.JobID, error)
	// Before tells which other jobs the submissions made whose last jobs these are, if they made several.
	Before(ctx context.Context, ids []facts.JobID) (map[facts.JobID][]facts.JobID, error)
	// JobStates returns the states of the existing jobs among ids.
	JobStates(ctx context.Context, ids []facts.JobID) (map[facts.JobID]facts.JobState, error)
	// Latest returns the latest attempt of each touched item first..last, by item.
	Latest(ctx context.Context, job facts.JobID, first, last facts.ItemNo) ([]facts.AttemptFacts, error)
	// ReadJob calls read with a job's rows from one consistent snapshot: an ended attempt never appears as live next to
	// its successor. It returns false if there is no such job. Read must start over at each call, because it is called
	// again when the connection breaks.
	ReadJob(ctx context.Context, id facts.JobID, read func(context.Context, facts.JobFacts, JobRows) error) (found bool,
		err error)
	// EndedSo are the items whose latest attempt, which is live or their end, ran on the host, unless it is "", and has
	// the exit status, unless that is nil.
	EndedSo(ctx context.Context, job facts.JobID, host facts.HostID, exit *int) ([]facts.ItemNo, error)
	// Attempts of a job by (item, number), those after the given one.
	Attempts(ctx context.Context, job facts.JobID, after facts.AttemptID, limit int) ([]facts.AttemptFacts, error)
	// History of a job, oldest first: events, the starts and ends that the attempt rows tell, and what was taken away.
	// Earlier is how many lines there are before those of the page, 0 if After was asked for.
	History(ctx context.Context, job facts.JobID, page HistoryPage) (lines []HistoryLine, earlier int, err error)

	// FarmHistory lists events of the whole farm, the newest first, and the place from which to go on; 0: there is nothing
	// older. It reads a bounded number of rows, so there may be more though the list is short.
	FarmHistory(ctx context.Context, q EventQuery) (list []facts.EventFacts, next int64, err error)

	// Past tells what no longer can be read of a job; all zero of a job that is not there.
	Past(ctx context.Context, job facts.JobID) (Past, error)

	// Leader tells who led last, and how long ago it proved that.
	Leader(ctx context.Context) (Leader, error)
	// Trouble is why Lead cannot even try now, such as a database that does not answer; nil: it can.
	Trouble() error
	// Room proves that the database can write some MB more; ErrFull: it has no room for them.
	Room(ctx context.Context) error
	// Advertise sets the name under which this process will lead; before the first term.
	Advertise(name string)

	// Shares lists the places with shares of their own, by path.
	Shares(ctx context.Context) ([]facts.ShareFacts, error)
	// Credits lists credit, the latest entry first; with an owner only his.
	Credits(ctx context.Context, owner string) ([]facts.CreditFacts, error)
	// Ledger sums an owner's ended attempts in some accounts by day, decayed to a moment.
	Ledger(ctx context.Context, owner string, accounts []string, now time.Time,
		halfLife time.Duration) ([]LedgerDay, error)
	// AuditLog lists the audit trail, the newest rows first.
	AuditLog(ctx context.Context, q AuditQuery) ([]AuditRow, error)
	// AddAudits adds rows that belong to no commit: refusals and reads.
	AddAudits(ctx context.Context, list []facts.AuditFacts) error
	// Stats reports what ended attempts used, divided as asked for.
	Stats(ctx context.Context, q StatsQuery) ([]StatsRow, error)

	// CreateToken adds a token, with rows of the audit trail; its id must be new.
	CreateToken(ctx context.Context, t Token, audit ...facts.AuditFacts) error
	Token(ctx context.Context, id string) (Token, bool, error)
	Tokens(ctx context.Context) ([]Token, error)
	RevokeToken(ctx context.Context, id string, audit ...facts.AuditFacts) (bool, error)
	// GoodTokens lists the tokens that are neither revoked nor expired at a moment: those bound to no host first, then
	// those of hosts that were used, then the others; the newest first of each.
	GoodTokens(ctx context.Context, now time.Time) ([]Token, error)
	// TouchTokens records when tokens were last used; unknown tokens are ignored.
	TouchTokens(ctx context.Context, used map[string]time.Time) error
	// DropSpareTokens deletes sessions that ended before a moment, hosts' tokens that did, or were made before it and
	// never used, and of each host all but the KeptTokens used last. It returns how many.
	DropSpareTokens(ctx context.Context, before time.Time) (int, error)
	// ChangeToken gives a token the end of next, and lets it wait as next does. It returns false if the token does
	// not have the seal of before.
	ChangeToken(ctx context.Context, before, next Token, audit ...facts.AuditFacts) (bool, error)
	// ExchangeToken gives a token the uses and the seal of after and adds the token that was made for the use, in one
	// transaction with rows of the audit trail. It returns false, and does nothing, if the token does not have the
	// seal of before, or has no use left.
	ExchangeToken(ctx context.Context, before, after, made Token, audit ...facts.AuditFacts) (bool, error)
	// UserTokens lists the tokens of a user that are bound to no host, the newest first.
	UserTokens(ctx context.Context, user string) ([]Token, error)
	// HostTokens lists the tokens that are bound to a host's key, the newest first.
	HostTokens(ctx context.Context, hostKey string) ([]Token, error)
	// RevokeHostTokens revokes the tokens that are bound to a host's key.
	RevokeHostTokens(ctx context.Context, hostKey string) error

	// People lists the users that were added, by name.
	People(ctx context.Context) ([]Person, error)
	// AddPerson adds a user, whose tokens of before end. It returns false if the name is taken or there are MaxPeople
	// users.
	AddPerson(ctx context.Context, p Person, audit ...facts.AuditFacts) (bool, error)
	// ChangePerson replaces the row of a user by next, if its seal is that of before; the user's tokens end if Since
	// differs.
	ChangePerson(ctx context.Context, before, next Person, audit ...facts.AuditFacts) (bool, error)
	// RemovePerson removes a user, whose tokens end. It returns false if there is none of that name.
	RemovePerson(ctx context.Context, name string, audit ...facts.AuditFacts) (bool, error)
}

// MaxPeople is the most users that are added.
const MaxPeople = 5000

// Person is a user whom an admin added. Without a row a user has the role that the socket or a token gives.
type Person struct {
	Name      string
	Role      string
	Groups    []string // of users
	Leads     []string // groups whose members' jobs the user may change
	SubmitAs  []string // users for whom the user may submit
	Rights    []string // nil: those of the role
	Disabled  bool
	CreatedAt time.Time
	CreatedBy string
	Since     time.Time // tokens that were made before it count no more
	Seal      []byte    // MAC over the rest, under the farm's key
}

// Token is a credential without its secret, of which only a MAC is stored under a key that the database does not have.
type Token struct {
	ID        string
	MAC       []byte
	User      string
	Role      string
	CreatedAt time.Time
	ExpiresAt time.Time
	LastUsed  time.Time // zero: never
	Revoked   bool
	// of a worker's token: the public key of the only host that it is for, in hex; empty: any that has none
	HostKey string
	Seal    []byte // MAC over the rest but the last use, under the farm's key; empty: revoked
	// how often it may still be exchanged for another token, and good for nothing else; nil: an ordinary token
	UsesLeft *int
	Name     string // how its user calls it; empty: it was not made by a login
	// the host that it is for, while that waits for approval, and the token is good for nothing; empty: it does not wait
	Pending string
	// of a session in the page: the credential that it was begun with, a token's id or "user NAME"; empty: it is no
	// session
	SessionOf string
}

// EventQuery chooses events of the whole farm; zero members choose all.
type EventQuery struct {
	User, Host, Type string
	Job              int64
	Before           int64 // 0: from the newest
	Limit            int   // 0 or more than MaxPage: MaxPage
}

// FailedBefore is how attempts at an item failed after which it was tried again: how many, and how the last one did.
type FailedBefore struct {
	Item     facts.ItemNo
	Attempts int
	Host     facts.HostID
	Reason   facts.Reason
	Cause    string
}
