package term

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// A panic in the middle of a step leaves the farm half changed: the term ends, and the next one starts from the rows.
// If the sender then repeats the event, as a worker does with its report, terms would end for ever. So each such end is
// noted in a row of the sender, and from the third on the sender's events are refused before the step, for a while.
const (
	brokenTimes = 3
	refusedFor  = 10 * time.Minute // after the third time; twice as long after each further one
	refusedMost = 24 * time.Hour
	// hearFirst is how long a term hears events before its first plan, if one ended a moment ago by a panic: the order
	// that takes the reason away may be among them.
	hearFirst   = 3 * time.Second
	momentAgo   = 10 * time.Minute
	unnotedMost = 16
	causeKept   = 300 // bytes of what a panic said
	codeRefused = "sender-refused"
	planSender  = "plan"
	takeSender  = "commit"
	askSender   = "question"
)

// Senders knows whose events broke the farm's state.
type Senders struct {
	rows map[facts.Sender]facts.BreakageFacts
}

// NewSenders takes up what the rows say.
func NewSenders(rows []facts.BreakageFacts) *Senders {
	s := &Senders{rows: map[facts.Sender]facts.BreakageFacts{}}
	for _, r := range rows {
		s.rows[r.Sender] = r
	}
	return s
}

// Broke counts an event of a sender that broke the farm's state, and returns the row that notes it.
func (s *Senders) Broke(now time.Time, from facts.Sender, cause string) facts.BreakageFacts {
	row := s.rows[from]
	if now.Sub(row.At) > facts.BreakageKept {
		row = facts.BreakageFacts{Sender: from}
	}
	row.Times++
	row.At = now
	row.Cause = shortened(cause)
	s.rows[from] = row
	return row
}

// Refused says until when events of a sender are refused; false if they are not.
func (s *Senders) Refused(now time.Time, from facts.Sender) (until time.Time, refused bool) {
	row := s.rows[from]
	if row.Times < brokenTimes {
		return time.Time{}, false
	}
	lasts := refusedMost
	if n := row.Times - brokenTimes; n < 8 {
		lasts = min(refusedFor<<n, refusedMost)
	}
	until = row.At.Add(lasts)
	return until, now.Before(until)
}

// Held are the senders that are refused now, in a fixed order, as the farm is to hear of them.
func (s *Senders) Held(now time.Time) (held []message.SenderBlocked) {
	for from, row := range s.rows {
		if until, refused := s.Refused(now, from); refused {
			held = append(held, message.SenderBlocked{Sender: from, Until: until, Times: row.Times, Cause: row.Cause})
		}
	}
	slices.SortFunc(held, func(a, b message.SenderBlocked) int { return compareSenders(a.Sender, b.Sender) })
	return held
}

// Lift lets a host be heard again, as a person unlocked it, and returns the rows that note it: the next time counts as
// the second.
func (s *Senders) Lift(now time.Time, host facts.HostID) (writes []facts.Write) {
	from := facts.Sender{Kind: message.Report, Host: host}
	if row, known := s.rows[from]; known && row.Times >= brokenTimes {
		row.Times = 1
		s.rows[from] = row
		writes = append(writes, facts.PutBreakage{Breakage: row})
	}
	return writes
}

// Lately says whether any event broke the farm's state a moment ago.
func (s *Senders) Lately(now time.Time) bool {
	for row := range maps.Values(s.rows) {
		if now.Sub(row.At) < momentAgo {
			return true
		}
	}
	return false
}

// Refusal is the reply to an event of a sender that is refused; nil if it is not.
func (s *Senders) Refusal(now time.Time, from facts.Sender) *outbox.Refusal {
	until, refused := s.Refused(now, from)
	if !refused {
		return nil
	}
	return &outbox.Refusal{Kind: "unavailable", Code: codeRefused, Wait: until.Sub(now), Text: fmt.Sprintf(
		"%s is refused until %s: it broke the supervisor's state %d times (%s); see the supervisor's log, and update the supervisor",
		describe(from), until.UTC().Format("15:04:05 UTC"), s.rows[from].Times, s.rows[from].Cause)}
}

// BrokenError ends a term whose farm broke in the middle of a step.
type BrokenError struct {
	Sender      facts.Sender
	Text, Stack string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%v: %s: %s\n%s", ErrPanic, describe(e.Sender), e.Text, e.Stack)
}

func (e *BrokenError) Unwrap() error { return ErrPanic }

// ErrQuestion is the answer to a question that broke; its text is for the log.
var ErrQuestion = errors.New("the question broke in the supervisor; see its log")

func describe(from facts.Sender) string {
	text := from.Kind
	if from.Host != "" {
		text += " of host " + string(from.Host)
	}
	if from.Job != 0 {
		text += fmt.Sprintf(" on job %d", from.Job)
	}
	if from.Owner != "" {
		text += " by " + from.Owner
	}
	return text
}

func compareSenders(a, b facts.Sender) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Job, b.Job),
		cmp.Compare(a.Owner, b.Owner))
}

func shortened(text string) string {
	text = strings.ToValidUTF8(text, "?")
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > causeKept {
		text = strings.ToValidUTF8(text[:causeKept], "") + "…"
	}
	return text
}

// noteBroken writes down whose event ended the term, or keeps it for the next one.
func (t *Leader) noteBroken(ctx context.Context, term store.Term, l *Loop, broke *BrokenError) {
	w := facts.PutBreakage{Breakage: l.senders.Broke(l.clock.Now(), broke.Sender, broke.Text)}
	t.Log.Error("the farm's state broke", "sender", describe(broke.Sender), "times", w.Breakage.Times,
		"panic", w.Breakage.Cause)
	t.Metrics.Panics.WithLabelValues("step").Inc()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.TrustFor)
	defer cancel()
	if err := term.Commit(ctx, []facts.Write{w}); err != nil {
		t.Log.Warn("cannot note whose event broke the farm's state; the next term does", "error", err)
		t.unnoted = append(t.unnoted, w)
		t.unnoted = t.unnoted[max(0, len(t.unnoted)-unnotedMost):]
	}
}

// noteUnnoted counts, and writes down, what earlier terms could not.
func (t *Leader) noteUnnoted(ctx context.Context, term store.Term, l *Loop) error {
	var writes []facts.Write
	for _, w := range t.unnoted {
		writes = append(writes, facts.PutBreakage{Breakage: l.senders.Broke(w.Breakage.At, w.Breakage.Sender,
			w.Breakage.Cause)})
	}
	if len(writes) == 0 || l.readOnly != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	if err := term.Commit(ctx, writes); err != nil {
		return fmt.Errorf("noting whose events broke the farm's state: %w", err)
	}
	t.unnoted = nil
	return nil
}
