package main

import (
	"fmt"
	"io"
	"time"
)

// poller asks again and again; a supervisor that restarts meanwhile, perhaps at another address, is
// waited for.
type poller struct {
	client *client
	errOut io.Writer
	away   time.Time // since when nothing was heard; zero while all is well
}

// look calls once; again is true when the supervisor was away and the call is worth repeating.
func (p *poller) look(call func() error) (again bool, err error) {
	err = call()
	if !unavailable(err) {
		p.away = time.Time{}
		return false, err
	}
	if p.away.IsZero() {
		p.away = time.Now()
		fmt.Fprintf(p.errOut, "%v; waiting for it\n", err)
	}
	if time.Since(p.away) > awayAtMost {
		return false, err
	}
	if err := p.client.Find(); err != nil && !unavailable(err) {
		return false, err
	}
	return true, nil
}
