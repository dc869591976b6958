package worker

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os/user"
	"strings"
	"testing"

	"qb/api"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
	"qb/worker/tree"
)

// TestHelloOlderThanTheOrder: a link that has just connected again hands over an item before it reads the
// shim's hello, which still names the former one. The hello says nothing of the item that is on its way;
// taken at its word, the end of that item was never reported. (The simulator's seed 2324.)
func TestHelloOlderThanTheOrder(t *testing.T) {
	former, next := attempt(4, 2), attempt(4, 5)
	for _, ordered := range []bool{true, false} {
		a := &agent{log: slog.New(slog.DiscardHandler), state: &stateFolder{root: t.TempDir()}, wake: make(chan struct{}, 1)}
		a.ships = newShipper(t.Context(), a.log, a.state.logPath, nil)
		l := a.newShimConn(core.Key{Job: 4, Instance: 1})
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go io.Copy(io.Discard, theirs)
		l.conn, l.attempt, l.ended, l.reported = ours, next, false, make(chan struct{})
		want := core.Adopted{Key: l.key, Attempt: former, State: core.StateIdle}
		if ordered {
			l.hand(ready{attempt: next, line: []byte("{}\n")})
			want = core.Adopted{Key: l.key, Attempt: next, State: core.StateStarting}
		}
		l.greet(shim.Hello{Attempt: former, State: core.StateIdle})
		if l.attempt != want.Attempt {
			t.Errorf("ordered %v: the link waits for the end of %v, not of %v", ordered, l.attempt, want.Attempt)
		}
		if events := a.take(); len(events) != 1 || events[0].(core.ShimReached).Adopted != want {
			t.Errorf("ordered %v: the core is told %+v, not of %+v", ordered, events, want)
		}
		if ordered {
			l.ended = false
			l.hear(heard{message: shim.Report{Ended: &api.Finished{Attempt: next}}})
			a.ships.wait.Wait()
			if events := a.take(); len(events) != 1 || events[0].(core.ItemEnded).Finished.Attempt != next {
				t.Errorf("the core is told %+v, not that the item has ended", events)
			}
		}
	}
}

// TestOrderThatLosesItsShim: an order that was handed over several times, and lost its shim each time, ends. Whatever
// the reason, it holds no slot for good.
func TestOrderThatLosesItsShim(t *testing.T) {
	state := &stateFolder{root: t.TempDir()}
	if err := makeFolders(state.root); err != nil {
		t.Fatal(err)
	}
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{ctx: t.Context(), log: slog.New(slog.DiscardHandler), state: state, wake: make(chan struct{}, 1), orders: newOrderGate()}
	a.launcher = &launcher{runAs: settings.RunAsAgent, agentUser: self.Username, environ: func() []string { return nil }, owners: map[string]ownerFacts{}}
	a.ships = newShipper(t.Context(), a.log, a.state.logPath, nil)
	l := a.newShimConn(core.Key{Job: 4, Instance: 1})
	item := core.Item{Desired: api.Desired{Attempt: attempt(4, 2)}, Spec: api.JobSpec{User: self.Username, Command: []string{"true"}}}
	for range mostHandings {
		l.carryOut(core.HandItem{Key: l.key, Item: item})
		l.lose()
		l.greet(shim.Hello{})
	}
	for _, ev := range a.take() {
		if end, ok := ev.(core.ItemEnded); ok {
			t.Errorf("too early: %+v", end)
		}
	}
	l.carryOut(core.HandItem{Key: l.key, Item: item})
	a.ships.wait.Wait()
	events := a.take()
	if len(events) != 1 || events[0].(core.ItemEnded).Finished.Outcome != "lost" || !strings.Contains(events[0].(core.ItemEnded).Finished.Reason, "shims of the item were lost") {
		t.Errorf("%+v", events)
	}
	item.Desired.Attempt = attempt(4, 3)
	if _, ok := l.prepare(item, 0); !ok {
		t.Error("the next item is refused")
	}
	if len(a.orders) > 0 {
		t.Error("an order keeps its place")
	}
}

// TestNoSessionOfAPlainJob: a shim that a former agent left and that does not answer, of an item that has ended, is found
// dead a moment later. Only the program of a load-once job leaves a log between items; for another job the supervisor
// refuses such a log, and the host kept it for good.
func TestNoSessionOfAPlainJob(t *testing.T) {
	for _, loadOnce := range []bool{false, true} {
		state := &stateFolder{root: t.TempDir()}
		if err := makeFolders(state.root); err != nil {
			t.Fatal(err)
		}
		names := tree.New(nil, "mark")
		lock, err := state.declare(shim.Intent{Key: core.Key{Job: 4}, Attempt: attempt(4, 2), Boot: "boot", Mark: "mark",
			LoadOnce: loadOnce, Names: names})
		if err != nil {
			t.Fatal(err)
		}
		end := api.Finished{Attempt: attempt(4, 2), Outcome: "exit", ExitCode: new(0)}
		if err := state.spool().Put(shim.Spooled{Boot: "boot", Finished: end}); err != nil {
			t.Fatal(err)
		}
		sessions := make(chan api.LogChunk, 2)
		a := &agent{ctx: t.Context(), log: slog.New(slog.DiscardHandler), state: state, boot: "boot", wake: make(chan struct{}, 1),
			conns: map[core.Key]*shimConn{}}
		a.config.LogLimit = 1 << 20
		a.ships = newShipper(t.Context(), a.log, a.state.logPath, func(_ context.Context, c api.LogChunk) (int64, error) {
			sessions <- c
			return c.Offset + int64(len(c.Data)), nil
		})
		if _, err := a.adopt(); err != nil {
			t.Fatal(err)
		}
		l := a.conns[core.Key{Job: 4}]
		if l == nil || !l.ended {
			t.Fatal("the instance is not taken up as one whose item has ended")
		}
		lock.Close()
		if !l.finish(t.Context()) {
			t.Fatal("the instance of the dead shim is not over")
		}
		a.ships.wait.Wait()
		if got := len(sessions) > 0 && (<-sessions).Session; got != loadOnce {
			t.Errorf("load-once %v: a session's log is sent: %v", loadOnce, got)
		}
	}
}

// TestALoadedProgramHasItsMemory: after the end of an item its memory is not counted as used by the farm. A program that
// stays loaded still uses it.
func TestALoadedProgramHasItsMemory(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		a := &agent{log: slog.New(slog.DiscardHandler), state: &stateFolder{root: t.TempDir()}, wake: make(chan struct{}, 1)}
		a.ships = newShipper(t.Context(), a.log, a.state.logPath, nil)
		l := a.newShimConn(core.Key{Job: 4})
		a.conns = map[core.Key]*shimConn{l.key: l}
		l.attempt, l.ended, l.reported = attempt(4, 2), false, make(chan struct{})
		l.end(api.Finished{Attempt: attempt(4, 2), Loaded: loaded})
		a.ships.wait.Wait()
		if got := len(a.left(nil)) == 0; got != loaded {
			t.Errorf("loaded %v: its memory is still its own: %v", loaded, got)
		}
	}
}
