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

func (c *client) call(ctx context.Context, e api.Endpoint, params api.Params, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		err := c.Call(ctx, e, params, in, out)
		if !c.repeatable(e, err) || sleep(ctx, leaderPause) != nil {
			return err
		}
		_ = c.find() // no leader yet: the same address is asked again
	}
}

// submit sends a job under a token of its own, again and again while the supervisor cannot be reached:
// a repeated submission of the same token is the same job.
func (c *client) submit(ctx context.Context, req *api.SubmitRequest) (api.SubmitReply, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	header := http.Header{"Idempotency-Key": {rand.Text()}}
	pause := 100 * time.Millisecond
	for {
		var reply api.SubmitReply
		err := c.once(ctx, req, header, &reply)
		if !unavailable(err) || ctx.Err() != nil {
			return reply, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return reply, err
		case <-timer.C:
		}
		pause = min(2*pause, time.Second)
		_ = c.find() // it may have come back elsewhere; if not, the old address is tried again
	}
}

func (c *client) once(ctx context.Context, req *api.SubmitRequest, header http.Header, reply *api.SubmitReply) error {
	resp, err := c.Open(ctx, api.Submit, nil, req, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return decodeAnswer(resp.Body, reply)
}

func unavailable(err error) bool { return isKind(err, api.KindUnavailable) }

func isKind(err error, kind api.Kind) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Kind == kind
}
