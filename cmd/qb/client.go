package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/find"
	"qb/internal/pause"
)

// answerWithin bounds a command whose supervisor does not answer: it ends with exit code 3 within 5 s.
const answerWithin = 4500 * time.Millisecond

// leaderPause is between two looks for a leader, while one supervisor takes over from another.
const leaderPause = 200 * time.Millisecond

// client calls the farm's supervisor; every call ends in time.
type client struct {
	*api.Client
	cmd    *cobra.Command
	conf   *config.Config
	url    string
	others bool // there are other addresses to turn to
	repeat repetition
}

// connect makes a client, which finds the farm at its first call.
func connect(cmd *cobra.Command) *client { return &client{cmd: cmd} }

// found finds the farm unless it was found before. Who calls again as long as no one answers looks for the farm before:
// a missing supervisor is no reason to wait.
func (c *client) found() (err error) {
	if c.Client != nil {
		return nil
	}
	if c.repeat, err = repetitionOf(c.cmd); err != nil {
		return err
	}
	if c.conf, err = find.ClientConfig(c.cmd); err != nil {
		return err
	}
	return c.Find()
}

func (c *client) Open(ctx context.Context, e api.Endpoint, params api.Params, in any,
	header http.Header) (*http.Response, error) {
	if err := c.found(); err != nil {
		return nil, err
	}
	return c.Client.Open(ctx, e, params, in, header)
}

// dialled is a certain supervisor.
type dialled struct{ *api.Client }

// dial takes a supervisor by its address, wherever the farm of the other commands is.
func dial(cmd *cobra.Command, url, token string) (sender, error) {
	conf, err := find.ClientConfig(cmd)
	if err != nil {
		return nil, err
	}
	accounts, err := find.Trusted(conf)
	if err != nil {
		return nil, err
	}
	one, err := api.NewClient(url, token, accounts...)
	return dialled{one}, err
}

func (d dialled) Send(ctx context.Context, e api.Endpoint, params api.Params, in, out any) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWithin)
		defer cancel()
	}
	return d.Call(ctx, e, params, in, out)
}

// Find looks where the farm is now.
func (c *client) Find() error {
	where, err := find.Supervisor(c.cmd, c.conf)
	if err != nil {
		return err
	}
	return c.locate(c.cmd.Context(), where)
}

// Send asks an endpoint for what changes nothing, or what may be done twice.
func (c *client) Send(ctx context.Context, e api.Endpoint, params api.Params, in, out any) error {
	_, err := c.insistOn(ctx, request{endpoint: e, params: params, in: in, out: out})
	return err
}

// ping asks who leads, and who the caller is.
func (c *client) ping() (api.Ping, error) {
	return call[api.Ping](c.cmd.Context(), c, api.PingFarm, nil, nil)
}

// Ask is Send for requests without a body, such as an audit.
func (c *client) Ask(ctx context.Context, e api.Endpoint, params api.Params, out any) error {
	return c.Send(ctx, e, params, nil, out)
}

// Change asks for a change to what the word names, "" if there is only one. It has a key, and is repeated under it
// while no supervisor can answer: whatever became of the first try, it happens once. A failure that leaves the outcome
// unknown, or the command half done, says how to go on.
func (c *client) Change(ctx context.Context, word string, e api.Endpoint, params api.Params, in, out any) error {
	if err := c.found(); err != nil {
		return err
	}
	header := http.Header{"Idempotency-Key": {c.repeat.keyOf(word)}}
	unknown, err := c.insistOn(ctx, request{endpoint: e, params: params, in: in, out: out, header: header})
	switch {
	case err == nil:
		c.repeat.changed = true
	case !unknown && !(c.repeat.changed && unavailable(err)):
	case unavailable(err):
		return api.Errorf(api.KindUnavailable, "%v\n%s", err, c.advice())
	case ctx.Err() != nil:
		fmt.Fprintf(c.cmd.ErrOrStderr(), "interrupted: the outcome is not known\n%s\n", c.advice())
	}
	return err
}

// Order gives one order, under a key of its own.
func (c *client) Order(ctx context.Context, job int64, items, action string) (reply api.ActionReply, err error) {
	params := jobParam(job)
	params["action"] = action
	header := http.Header{"Idempotency-Key": {rand.Text()}}
	unknown, err := c.insistOn(ctx, request{endpoint: api.OrderJob, params: params, in: api.ActionRequest{Items: items},
		out: &reply, header: header})
	if unknown && err != nil {
		err = api.Errorf(api.KindUnavailable, "%v; whether the %s was carried out is not known", err, action)
	}
	return reply, err
}

// ask connects and makes a call.
func ask[T any](cmd *cobra.Command, e api.Endpoint, params api.Params, in any) (T, error) {
	return call[T](cmd.Context(), connect(cmd), e, params, in)
}

// request is one call, as it is made at each try.
type request struct {
	endpoint api.Endpoint
	params   api.Params
	in, out  any
	header   http.Header // nil without a key
}

// insistOn makes a call until it is answered or its time is over; unknown says that a try may have reached a supervisor
// and its outcome is not known. Where the time ends within a later try, the error says what was answered before, which
// says more than the clock does.
func (c *client) insistOn(ctx context.Context, r request) (unknown bool, err error) {
	if err := c.found(); err != nil {
		return false, err
	}
	began, said, limit := time.Now(), false, answerWithin
	if c.repeat.insist {
		limit = c.repeat.limit
	}
	for rest := leaderPause; ; rest = min(2*rest, time.Second) {
		within := min(answerWithin, max(limit, answerWithin)-time.Since(began))
		before := err
		try, cancel := context.WithTimeout(ctx, within)
		err = c.CallWith(try, r.endpoint, r.params, r.in, r.out, r.header)
		cutOff := try.Err() != nil && ctx.Err() == nil
		cancel()
		if r.header != nil && (unavailable(err) || ctx.Err() != nil) && !api.Undone(err) {
			unknown = true
		}
		if unknown || isKind(err, api.KindLimit) {
			limit = c.repeat.limit
		}
		wait := max(rest, api.Refusal(err).RetryAfter)
		if !c.repeatable(r, err) || time.Since(began)+wait >= limit {
			if before != nil && unavailable(err) && cutOff {
				err = api.Errorf(api.KindUnavailable, "%v; a last try was not answered in time", before)
			}
			return unknown, err
		}
		if !said && limit > answerWithin && time.Since(began)+wait > answerWithin {
			said = true
			fmt.Fprintf(c.cmd.ErrOrStderr(), "%s: %v; trying again for up to %s (-retryfor)\n", commandline.TypedName(c.cmd),
				err, limit)
		}
		if pause.For(ctx, wait) != nil {
			return unknown, err
		}
		_ = c.Find() // it may have come back elsewhere; if not, the old address is tried again
	}
}

func unavailable(err error) bool { return isKind(err, api.KindUnavailable) }

func isKind(err error, kind api.Kind) bool { return api.Refusal(err).Kind == kind }
