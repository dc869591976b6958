package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/find"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

// clientsOf are the addresses with a client for each.
func clientsOf(where find.Address) (urls []string, clients []*api.Client, err error) {
	urls = facts.SplitList(where.URL)
	for _, url := range urls {
		one, err := api.NewClient(url, where.Token, where.Trusted...)
		if err != nil {
			return nil, nil, err
		}
		clients = append(clients, one)
	}
	return urls, clients, nil
}

// elsewhereWithin bounds the wait for the answer of each supervisor that is asked for a log.
const elsewhereWithin = 5 * time.Second

// openElsewhere asks the other supervisors of the list for a log. It returns the answer of the first that holds any of
// it, nil if none does, and warns of supervisors that do not answer.
func (c *client) openElsewhere(ctx context.Context, e api.Endpoint, params api.Params, what string) *http.Response {
	where, err := find.Supervisor(c.cmd, c.conf)
	if err != nil {
		return nil
	}
	urls, clients, err := clientsOf(where)
	if err != nil {
		return nil
	}
	for n, one := range clients {
		if urls[n] == c.url {
			continue
		}
		asked, giveUp := context.WithCancel(ctx) // it ends with the reading, so not by a deadline
		timer := time.AfterFunc(elsewhereWithin, giveUp)
		resp, err := one.Open(asked, e, params, nil, nil)
		late := !timer.Stop()
		switch {
		case err == nil && resp.Header.Get(api.ElsewhereHeader) == "":
			context.AfterFunc(ctx, giveUp)
			return resp
		case err == nil:
			resp.Body.Close()
		case late || unavailable(err):
			fmt.Fprintf(c.cmd.ErrOrStderr(),
				"%s: %s printed nothing, or its output lies with %s, which does not answer: %v\n",
				commandline.TypedName(c.cmd), output.Escape(what), output.Escape(urls[n]), err)
		}
		giveUp()
	}
	return nil
}

// locate settles on the address whose supervisor leads; where none does, on an address that at least answers.
func (c *client) locate(ctx context.Context, where find.Address) error {
	urls, clients, err := clientsOf(where)
	if err != nil {
		return err
	}
	switch len(urls) {
	case 0:
		return api.Errorf(api.KindUsage,
			"supervisor address %q names none; give http://HOST:PORT or unix:PATH, several with commas between", where.URL)
	case 1:
		c.Client = clients[0]
		c.url = urls[0]
		c.others = false
		return nil
	}
	at, err := api.Locate(ctx, clients)
	if err != nil {
		at = 0 // the call itself will say what is wrong, unless a supervisor comes back meanwhile
	}
	c.Client = clients[at]
	c.url = urls[at]
	c.others = true
	return nil
}

// repeatable says whether a call that got no answer may be made again: it has a key; or it changes nothing, and there
// is another address to go to or the caller insists; or it certainly did nothing, and there is another address. A
// caller who did too much at a time may try again after the time that the refusal names.
func (c *client) repeatable(r request, err error) bool {
	if isKind(err, api.KindLimit) {
		return api.Refusal(err).RetryAfter > 0 && (r.header != nil || r.endpoint.Method == http.MethodGet)
	}
	reads := r.endpoint.Method == http.MethodGet
	return unavailable(err) && (r.header != nil || reads && c.repeat.insist || c.others && (reads || api.IsStandby(err)))
}
