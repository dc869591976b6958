package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/serve"
	"qb/supervisor/store"
	"qb/worker/proc"
)

// chargeTurns is a store whose terms write charges or leave them out, in turns.
type chargeTurns struct {
	serve.Backing
	on       atomic.Bool
	backends *backends
	wal      *pgx.Conn
	done     chan chargedTurn
	now      chargedTurn // the turn that is not yet done
	turn     int
	mark     chargedTurn // what there was of everything as it began
}

// chargedTurn is what a turn did and cost.
type chargedTurn struct {
	charged                bool
	items, commits, payers int
	cost                   time.Duration // processor time
	wal                    int64         // bytes
}

// begin lets turns begin. Each finished turn comes through the channel.
func (t *chargeTurns) begin(postgres int, wal *pgx.Conn) <-chan chargedTurn {
	t.backends, t.wal, t.done = &backends{postgres: postgres, seen: map[int]time.Duration{}}, wal, make(chan chargedTurn, 1<<16)
	t.mark = t.read(context.Background())
	t.on.Store(true)
	return t.done
}

// end lets everything be charged again.
func (t *chargeTurns) end() { t.on.Store(false) }

func (t *chargeTurns) read(ctx context.Context) (turn chargedTurn) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		panic(err)
	}
	turn.cost = time.Duration(own.Utime.Nano()+own.Stime.Nano()) + t.backends.read()
	if err := t.wal.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&turn.wal); err != nil {
		panic(err)
	}
	return turn
}

// Lead waits for a term whose commits take turns.
func (t *chargeTurns) Lead(ctx context.Context) (store.Term, error) {
	term, err := t.Backing.Lead(ctx)
	return turningTerm{term, t}, err
}

type turningTerm struct {
	store.Term
	turns *chargeTurns
}

func (t turningTerm) Commit(ctx context.Context, writes []facts.Write) error {
	if !t.turns.on.Load() {
		return t.Term.Commit(ctx, writes)
	}
	return t.turns.commit(ctx, t.Term, writes)
}

// commit makes the same new list on both sides, so that making it is no difference.
func (t *chargeTurns) commit(ctx context.Context, term store.Term, writes []facts.Write) error {
	kept := make([]facts.Write, 0, len(writes))
	for _, w := range writes {
		switch w := w.(type) {
		case facts.ChargeUsage:
			if t.now.payers++; t.now.charged {
				kept = append(kept, facts.Write(w))
			}
		case facts.EndAttempt:
			t.now.items++
			if !t.now.charged {
				w.Charge, w.Charged = facts.Charge{}, false
			}
			kept = append(kept, w)
		default:
			kept = append(kept, w)
		}
	}
	if err := term.Commit(ctx, kept); err != nil {
		return err
	}
	if t.now.commits++; t.now.items < chargedSlice {
		return nil
	}
	mark := t.read(ctx)
	t.now.cost, t.now.wal = mark.cost-t.mark.cost, mark.wal-t.mark.wal
	t.done <- t.now
	t.turn++
	t.mark, t.now = mark, chargedTurn{charged: t.turn%4 == 1 || t.turn%4 == 2} // first one, then the other comes first
	return nil
}

// backends are the processes of Postgres' sessions, of which each has one thread.
type backends struct {
	postgres int
	seen     map[int]time.Duration
	sum      atomic.Int64
}

// read is the time that they have had of processors since the first look, to the nanosecond.
func (s *backends) read() time.Duration {
	for _, p := range proc.Descendants(s.postgres) {
		pid := p.PID
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !bytes.Contains(name, []byte("[local]")) {
			continue // gone, or one of those in the background
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			continue
		}
		var ran time.Duration
		if _, err := fmt.Sscan(strings.Fields(string(text))[0], (*int64)(&ran)); err != nil {
			panic(err)
		}
		if before, known := s.seen[pid]; known {
			s.sum.Add(int64(ran - before))
		}
		s.seen[pid] = ran
	}
	return s.total()
}

func (s *backends) total() time.Duration { return time.Duration(s.sum.Load()) }

// chargedPair are a turn without charges and one with them, that came next to each other.
type chargedPair [2]chargedTurn

func (p chargedPair) with(t chargedTurn) chargedPair {
	if t.charged {
		p[1] = t
	} else {
		p[0] = t
	}
	return p
}

func sum[N int | int64 | time.Duration](pairs []chargedPair, of func(chargedPair) N) (all N) {
	for _, p := range pairs {
		all += of(p)
	}
	return all
}

func reportPairs(b *testing.B, pairs []chargedPair) {
	each := func(side int, of func(chargedTurn) float64) float64 {
		all, items := 0.0, 0
		for _, p := range pairs {
			all, items = all+of(p[side]), items+p[side].items
		}
		return all / float64(items)
	}
	cost := func(t chargedTurn) float64 { return t.cost.Seconds() * 1e6 }
	wal := func(t chargedTurn) float64 { return float64(t.wal) }
	added := func(of func(chargedTurn) float64) (list []float64) {
		for _, p := range pairs {
			list = append(list, (of(p[1])/float64(p[1].items)/(of(p[0])/float64(p[0].items))-1)*100)
		}
		return list
	}
	median, low, high := middle(added(cost))
	b.ReportMetric(each(0, cost), "plain-cpu-us/item")
	b.ReportMetric(each(1, cost), "charged-cpu-us/item")
	b.ReportMetric((each(1, cost)/each(0, cost)-1)*100, "added-mean-%")
	b.ReportMetric(median, "added-median-%")
	b.ReportMetric(low, "added-low-%")
	b.ReportMetric(high, "added-high-%")
	median, _, _ = middle(added(wal))
	b.ReportMetric(each(0, wal), "plain-wal-B/item")
	b.ReportMetric(median, "added-wal-%")
	commits := float64(sum(pairs, func(p chargedPair) int { return p[1].commits }))
	b.ReportMetric(float64(sum(pairs, func(p chargedPair) int { return p[1].items }))/commits, "items/commit")
	b.ReportMetric(float64(sum(pairs, func(p chargedPair) int { return p[1].payers }))/commits, "payers/commit")
	b.ReportMetric(0, "ns/op") // of a pair: says nothing
}

// middle is the median, and between what it lies with 95 % if the differences are independent, whatever their
// distribution: the places that as many fair coins would not leave.
func middle(list []float64) (median, low, high float64) {
	slices.Sort(list)
	n := len(list)
	off := int(math.Ceil(0.98 * math.Sqrt(float64(n))))
	return list[n/2], list[max(n/2-off, 0)], list[min(n/2+off, n-1)]
}
