package api

import (
	"context"
	"io"
	"time"
)

// StandbyHeader marks a refusal by a supervisor that does not lead: it did nothing, and another address may
// do it. Its value is the leader's URL, or "unknown".
const StandbyHeader = "Qb-Standby"

// StandbyListens is its value where the rows of a leader were put back, and hosts are listened to before anything is
// given out.
const StandbyListens = "listening"

// locateWithin bounds the question to each address; a supervisor that is stopped takes the connection and
// says nothing.
const locateWithin = 2 * time.Second

// IsStandby says whether a call was refused, undone, by a supervisor that does not lead.
func IsStandby(err error) bool { return Refusal(err).Standby }

// Listens says whether a refusal came from a leader that wants to hear workers, though it answers no one yet.
func Listens(err error) bool { return Refusal(err).Listens }

// Healthy returns nil where a supervisor leads and works. The question shows no credential, as that of Leads.
func (c *Client) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, locateWithin)
	defer cancel()
	resp, err := (&Client{base: c.base, http: c.http, shown: c.shown, alone: true}).Open(ctx, Health, nil, nil, nil)
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody)) // the status is the answer
		resp.Body.Close()
	}
	return err
}

// Leads asks the supervisor whether it leads, without showing it a credential. An error says that it
// could not be asked. The question has a connection of its own: who asks many takes the first answer and gives up
// the other questions, and net/http may give a connection to the next call while it still closes it for the call
// before (golang/go#41600).
func (c *Client) Leads(ctx context.Context) (bool, error) {
	err := c.Healthy(ctx)
	if IsStandby(err) {
		return false, nil
	}
	return err == nil, err
}

// Locate asks all supervisors at once and returns the index of the first that says it leads; where none
// does, that of a standby; where none answers, -1 and the error of the first.
func Locate(ctx context.Context, clients []*Client) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		index int
		leads bool
		err   error
	}
	answers := make(chan answer, len(clients))
	for i, c := range clients {
		go func() {
			leads, err := c.Leads(ctx)
			answers <- answer{i, leads, err}
		}()
	}
	standby, failed := -1, make([]error, len(clients))
	for range clients {
		a := <-answers
		switch {
		case a.leads:
			return a.index, nil
		case a.err == nil:
			standby = a.index
		}
		failed[a.index] = a.err
	}
	if standby >= 0 {
		return standby, nil
	}
	return -1, failed[0]
}

// AttemptHeader is the number of the attempt whose log an answer holds. Who was cut off asks for that attempt again,
// from the offset that was reached.
const AttemptHeader = "Qb-Attempt"

// ElsewhereHeader marks the log of an attempt that ended before the supervisor that answers began to lead, and of which
// it holds nothing: the item printed nothing, or its output lies with another supervisor, which any client may ask that
// has its address.
const ElsewhereHeader = "Qb-Log-Elsewhere"

// EarlierHeader is how many lines of a history there are before the first of an answer.
const EarlierHeader = "Qb-Earlier"
