package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
)

// answerWithin bounds a command whose supervisor does not answer: it ends with exit code 3 within 5 s.
const answerWithin = 4500 * time.Millisecond

// leaderPause is between two looks for a leader, while one supervisor takes over from another.
const leaderPause = 200 * time.Millisecond

// client calls the farm's supervisor; every call ends in time.
type client struct {
	*api.Client
	cmd    *cobra.Command
	url    string
	others bool // there are other addresses to turn to
}

func connect(cmd *cobra.Command) (*client, error) {
	c := &client{cmd: cmd}
	return c, c.find()
}

// find looks where the farm is now.
func (c *client) find() error {
	where, err := findSupervisor(c.cmd)
	if err != nil {
		return err
	}
	return c.locate(c.cmd.Context(), where)
}

// call asks an endpoint. A change that takes a key gets one of its own, and is repeated under it while no supervisor
// can answer: whatever became of the first try, it happens once. Where the time ends within a later try, the error says
// what was answered before, which tells more than the clock does.
func (c *client) call(ctx context.Context, e api.Endpoint, params api.Params, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var header http.Header
	if e.Keyed() {
		header = http.Header{"Idempotency-Key": {rand.Text()}}
	}
	var before error
	for pause := leaderPause; ; pause = min(2*pause, time.Second) {
		err := c.CallWith(ctx, e, params, in, out, header)
		if before != nil && unavailable(err) && ctx.Err() != nil {
			return api.Errorf(api.KindUnavailable, "%v; a last try was not answered in time", before)
		}
		before = err
		if !c.repeatable(e, err) || sleep(ctx, pause) != nil {
			return err
		}
		_ = c.find() // it may have come back elsewhere; if not, the old address is tried again
	}
}

func unavailable(err error) bool { return isKind(err, api.KindUnavailable) }

func isKind(err error, kind api.Kind) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Kind == kind
}
