package worker

import (
	"context"
	"fmt"

	"qb/api"
	"qb/internal/pathmap"
	"qb/worker/shim"
)

// A path map may have a thousand bytes for two, and a token of a label four thousand for fifteen. So what counts is
// what an item's texts become, and that is counted before it is made: an item that is too large ends with the reason,
// and never becomes memory of the agent, nor an order that no shim reads.

// mapSteps is how many bytes may be compared to map the paths of one item: under a second, and many times what ordinary
// texts take.
const mapSteps = 1 << 26

// orderRoom is what of an order is not counted: names, numbers, groups of the owner, signs of licences and expressions.
const orderRoom = 512 << 10

// expansion is the room for the texts of one item while they are made, in bytes of JSON.
type expansion struct {
	left int
	work pathmap.Budget
}

func newExpansion() *expansion {
	return &expansion{left: api.MaxOrder - orderRoom, work: pathmap.Budget{Steps: mapSteps}}
}

// most is how long the next text may become that has so many bytes before it in its word.
func (x *expansion) most(before int) int { return max(0, min(api.MaxWord-before, x.left)) }

// took notes a text that was made, or says why it was not.
func (x *expansion) took(what, text string, before int, err error) error {
	if err == nil && len(text) > api.MaxWord-before {
		err = pathmap.ErrLong
	}
	if err == nil {
		if x.left -= api.JSONSize(text) + 1; x.left >= 0 {
			return nil
		}
		err = pathmap.ErrLong
	}
	return &tooLarge{what, err}
}

// tooLarge says that a text cannot become part of a process; it never shows the text, which may be a secret.
type tooLarge struct {
	what string
	why  error
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("%s: %v, with the paths and values of this item on this host: a word of a process has at most %d bytes, and all texts of an item together at most %d in JSON, where a control character takes 6; put the data into a file, or map fewer paths",
		e.what, e.why, api.MaxWord, api.MaxOrder-orderRoom)
}

func (e *tooLarge) Unwrap() error { return e.why }

// measure checks all words of an order as they go to its shim.
func measure(o *shim.RunCommand) error {
	x := newExpansion()
	for n, word := range o.Argv {
		if err := x.took(argument(n), word, 0, nil); err != nil {
			return err
		}
	}
	for n, entry := range o.Env {
		if err := x.took(fmt.Sprintf("variable %d of the item's environment", n+1), entry, 0, nil); err != nil {
			return err
		}
	}
	for _, list := range [][]shim.Stage{o.Before, o.After} {
		for _, stage := range list {
			for _, word := range append([]string{stage.Text}, stage.Argv...) {
				if err := x.took(stage.Text, word, 0, nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func argument(n int) string { return fmt.Sprintf("argument %d of the item's command", n) }

const (
	largeOrders = 2         // are in the agent's memory at a time, from when they are made until their shims have them
	smallOrder  = 256 << 10 // bytes: a smaller command leaves its place before it is sent
)

// commandGate keeps the memory for orders bounded, whatever the number of slots.
type commandGate chan struct{}

func newOrderGate() commandGate { return make(commandGate, largeOrders) }

// enter waits for a place. A shim that does not read holds one for linkWrite at most.
func (g commandGate) enter(ctx context.Context) (leave func()) {
	select {
	case g <- struct{}{}:
		return func() { <-g }
	case <-ctx.Done():
		return func() {}
	}
}
