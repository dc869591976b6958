package term

import (
	"context"
	"errors"
	"time"

	"qb/supervisor/lead/termwatch"
	"qb/supervisor/store"
)

// Ended is how the last term of this process ended that was not to end.
type Ended struct {
	At    time.Time
	Epoch int64
	Code  string
}

// Codes of ends.
const (
	EndedPanic      = "farm_broke"
	EndedFull       = "database_full"
	EndedHung       = "database_hung"
	EndedReadOnly   = "database_read_only"
	EndedRefused    = "database_refuses"
	EndedSuperseded = "superseded"
	EndedNewer      = "newer_server"
	EndedPutBack    = "rows_put_back"
	EndedOther      = "other_database"
	EndedLost       = "lead_lost"
	EndedDatabase   = "database_failed"
)

// endings says which error ends a term with which code; the first that fits counts.
var endings = []struct {
	err  error
	code string
}{
	{store.ErrBetterServer, EndedNewer}, {store.ErrOlderServer, EndedNewer}, {errSuperseded, EndedSuperseded},
	{errPutBack, EndedPutBack},
	{ErrPanic, EndedPanic}, {store.ErrFull, EndedFull}, {store.ErrReadOnly, EndedReadOnly},
	{store.ErrSuperseded, EndedSuperseded},
	{termwatch.ErrOtherDatabase, EndedOther}, {store.ErrConnections, EndedRefused}, {store.ErrRefused, EndedRefused},
	{store.ErrPooler, EndedRefused},
	{context.DeadlineExceeded, EndedHung}, {store.ErrTermOver, EndedLost},
}

// endTexts tell everybody who asks, so they name no more than the code does.
var endTexts = map[string]string{
	EndedPanic:      "the farm's state broke an invariant; the supervisor's log says which",
	EndedFull:       "the disk of the database is full",
	EndedHung:       "the database did not answer a commit or a proof of the term in time",
	EndedReadOnly:   "the database is read-only now",
	EndedRefused:    "the database refuses the supervisor; its log says why",
	EndedSuperseded: "the hosts obey a copy of this database, or a promoted replica of its server",
	EndedNewer:      "another address of database_url has newer rows",
	EndedPutBack:    "the rows were older than what a host had proof of",
	EndedOther:      "the hosts obey another database",
	EndedLost:       "its session ended, or another supervisor leads",
	EndedDatabase:   "the database failed; the supervisor's log says how",
}

// Text is the sentence of the code.
func (e *Ended) Text() string { return endTexts[e.Code] }

// Ended is nil as long as no term of this process has ended that was not to.
func (t *Leader) Ended() *Ended { return t.ended.Load() }

// noteEnded remembers how a term ended.
func (t *Leader) noteEnded(epoch int64, err error) {
	planned := errors.Is(err, errRoom) || errors.Is(err, errSettled) && !errors.Is(err, store.ErrTermOver)
	if epoch == 0 || planned { // none was led, or it was to end
		return
	}
	e := &Ended{At: time.Now(), Epoch: epoch, Code: EndedDatabase}
	for _, known := range endings {
		if errors.Is(err, known.err) {
			e.Code = known.code
			break
		}
	}
	t.ended.Store(e)
}
