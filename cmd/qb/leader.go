package main

import (
	"context"
	"net/http"
	"strings"

	"qb/api"
)

// addressesOf takes a list apart: HOST of one supervisor, or of several with commas between.
func addressesOf(list string) []string {
	var all []string
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// locate settles on the address whose supervisor leads; where none does, on one that at least answers.
func (c *client) locate(ctx context.Context, where address) error {
	urls := addressesOf(where.url)
	clients := make([]*api.Client, 0, len(urls))
	for _, url := range urls {
		one, err := api.NewClient(url, where.token, where.trusted...)
		if err != nil {
			return err
		}
		clients = append(clients, one)
	}
	switch len(urls) {
	case 0:
		return api.Errorf(api.KindUsage, "supervisor address %q names none; give http://HOST:PORT or unix:PATH, several with commas between", where.url)
	case 1:
		c.Client, c.url, c.others = clients[0], urls[0], false
		return nil
	}
	at, err := api.Locate(ctx, clients)
	if err != nil {
		at = 0 // the call itself will say what is wrong, unless a supervisor comes back meanwhile
	}
	c.Client, c.url, c.others = clients[at], urls[at], true
	return nil
}

// repeatable says whether a call that got no answer may be made again: it has a key; or it changes nothing, and there is
// another address to go to or the caller insists; or it certainly did nothing, and there is another address. A caller
// who did too much at a time may try again after the time that the refusal names.
func (c *client) repeatable(r request, err error) bool {
	if isKind(err, api.KindLimit) {
		return api.Refusal(err).RetryAfter > 0 && (r.header != nil || r.endpoint.Method == http.MethodGet)
	}
	reads := r.endpoint.Method == http.MethodGet
	return unavailable(err) && (r.header != nil || reads && c.repeat.insist || c.others && (reads || api.IsStandby(err)))
}
