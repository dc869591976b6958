package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"qb/api"
	"qb/internal/pause"
)

// overloadResult is what `qb bench -overload` prints.
type overloadResult struct {
	Hosts int       `json:"hosts"`
	Slots int       `json:"slots"`
	Load  benchLoad `json:"load"`
	// most items per second, over all demands that were tried one after the other
	Best float64 `json:"best"`
	// then: items per second that the slots would end if none ever waited
	Demand      float64 `json:"demand"`
	Goodput     float64 `json:"goodput"`      // that did
	Part        float64 `json:"part_of_best"` // Goodput of Best
	Unreachable int     `json:"unreachable"`  // most hosts at a time
	Brake       bool    `json:"brake"`        // it was engaged
	// from the end of the excess until all that is demanded is done again
	RecoverSeconds float64 `json:"recovered_seconds"`
}

const (
	overloadFirst   = 200.0 // items per second that are demanded first
	overloadStep    = 1.3   // and by how much more each time
	overloadRise    = 1.05  // while this much more is done than at less demand, the best is not found
	overloadSettle  = 3 * time.Second
	overloadLook    = 5 * time.Second
	overloadFor     = 30 * time.Second
	overloadFill    = 2 * time.Minute
	overloadLeast   = 0.8 // of the best goodput
	overloadRest    = 0.5 // of the best goodput that is demanded at the end
	overloadRecover = 10 * time.Second
	overloadWindow  = 2 * time.Second
)

// overload finds the machine's best goodput, demands twice as much for a while, then half of it.
func (b *benchRun) overload(ctx context.Context, errOut io.Writer) (*overloadResult, error) {
	r := &overloadResult{Hosts: b.benchOptions.hosts, Slots: b.slots, Load: benchLoad{Before: loadAverage()}}
	b.file.URL = "unix:" + filepath.Join(b.state, "qb.sock")
	slots := float64(b.benchOptions.hosts * b.slots)
	b.duration = meanFor(slots, overloadFirst)
	ids, err := b.submit(ctx, &benchResult{})
	if err != nil {
		return nil, err
	}
	if err := b.startHosts(errOut); err != nil {
		return nil, err
	}
	for began := time.Now(); ; _ = pause.For(ctx, standPause) {
		running, err := b.running(ctx, ids)
		if err != nil {
			return nil, err
		}
		if float64(running) >= 0.9*slots {
			break
		}
		if time.Since(began) > overloadFill {
			return nil, api.Errorf(api.KindUnavailable, "after %s %d of %.0f slots have an item", overloadFill, running, slots)
		}
	}
	for demand := overloadFirst; ; demand *= overloadStep {
		if err := b.demand(slots, demand); err != nil {
			return nil, err
		}
		_ = pause.For(ctx, overloadSettle)
		done, err := b.goodput(ctx, ids, overloadLook, nil)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(errOut, "%.0f items/s demanded, %.0f done\n", demand, done)
		rises := done > overloadRise*r.Best
		if r.Best = max(r.Best, done); done < overloadLeast*demand && !rises {
			break
		}
	}
	r.Demand = 2 * r.Best
	if err := b.demand(slots, r.Demand); err != nil {
		return nil, err
	}
	if r.Goodput, err = b.goodput(ctx, ids, overloadFor, r); err != nil {
		return nil, err
	}
	r.Part = r.Goodput / r.Best
	r.Load.During = loadAverage()
	return r, b.recover(ctx, ids, slots, r)
}

// recover demands what is easily done and waits until it is.
func (b *benchRun) recover(ctx context.Context, ids []int64, slots float64, r *overloadResult) error {
	demand := overloadRest * r.Best
	if err := b.demand(slots, demand); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 6*overloadRecover; {
		done, err := b.goodput(ctx, ids, overloadWindow, r)
		r.RecoverSeconds = time.Since(began).Seconds()
		if err != nil || done >= 0.9*demand {
			return err
		}
	}
	return nil
}

// demand has items take as long as makes the slots end so many per second.
func (b *benchRun) demand(slots, perSecond float64) error {
	_, err := fmt.Fprintln(b.stop, meanFor(slots, perSecond))
	return err
}

func meanFor(slots, perSecond float64) time.Duration {
	return time.Duration(slots / perSecond * float64(time.Second))
}

// goodput is how many items per second have a durable end, and notes meanwhile, unless r is nil, which hosts are
// unreachable and whether the brake is engaged.
func (b *benchRun) goodput(ctx context.Context, ids []int64, during time.Duration, r *overloadResult) (float64, error) {
	before, err := b.count(ctx, ids)
	began, after := time.Now(), before
	for err == nil && time.Since(began) < during {
		if err = pause.For(ctx, time.Second); err != nil {
			break
		}
		if r != nil {
			var m map[string]float64
			if m, err = b.metrics(ctx); err != nil {
				break
			}
			r.Unreachable = max(r.Unreachable, int(m[`qb_hosts{state="unreachable"}`]+m[`qb_hosts{state="lost"}`]))
			r.Brake = r.Brake || m["qb_brake_engaged"] > 0
		}
		after, err = b.count(ctx, ids)
	}
	return float64(after-before) / time.Since(began).Seconds(), err
}

// judge is an error if the farm did not hold out.
func (r *overloadResult) judge() error {
	switch {
	case r.Part < overloadLeast:
		return api.Errorf(api.KindInternal,
			"at %.0f items/s demanded %.0f were done, %.0f %% of the best; at least %.0f %% are right", r.Demand, r.Goodput,
			100*r.Part, 100*overloadLeast)
	case r.Unreachable > 0:
		return api.Errorf(api.KindInternal, "%d hosts were unreachable, though all spoke", r.Unreachable)
	case r.Brake:
		return api.Errorf(api.KindInternal, "the brake was engaged, though all hosts spoke")
	case r.RecoverSeconds > overloadRecover.Seconds():
		return api.Errorf(api.KindInternal, "the farm took %.1f s to recover; at most %s is right", r.RecoverSeconds,
			overloadRecover)
	}
	return nil
}
