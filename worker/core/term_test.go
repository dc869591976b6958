package core

import (
	"crypto/ed25519"
	"slices"
	"testing"
	"time"

	"qb/api"
)

var (
	farmKey  = ed25519.NewKeyFromSeed(make([]byte, 32))
	otherKey = ed25519.NewKeyFromSeed(append(make([]byte, 31), 1))
)

func signedTerm(key ed25519.PrivateKey, lineage string, epoch int64) *api.Term {
	return &api.Term{Farm: []byte(key.Public().(ed25519.PublicKey)), Lineage: lineage, Epoch: epoch, Began: epoch, Signature: ed25519.Sign(key, api.TermMessage(lineage, epoch, epoch))}
}

// hearTerm answers the core's sync at a moment with a term, and returns what the core made of it.
func hearTerm(c *Core, at time.Duration, epoch int64, term *api.Term) (why TermRefusal, saved *TermRecord) {
	c.now, c.orders = at, nil
	if c.obey(api.SyncReply{Epoch: epoch, Term: term}); len(c.orders) > 0 {
		switch o := c.orders[0].(type) {
		case RefusedTerm:
			return o.Why, nil
		case SaveTerm:
			return "", &o.Record
		}
	}
	return "", nil
}

// A worker obeys the first farm whose signature it sees, its highest term, and one database of it; it changes to
// another database only when that one's term is higher and its own has been silent, and never back.
func TestObeys(t *testing.T) {
	forged := signedTerm(farmKey, "a", 9)
	forged.Epoch = 10
	twin := signedTerm(farmKey, "a", 8)
	twin.Began, twin.Signature = 7, ed25519.Sign(farmKey, api.TermMessage("a", 8, 7))
	unsigned := signedTerm(farmKey, "a", 9)
	unsigned.Signature = nil
	var core *Core
	for n, step := range []struct {
		at    time.Duration
		epoch int64
		term  *api.Term
		why   TermRefusal
		saved bool
	}{
		{1 * time.Second, 1 << 50, nil, TermUnsigned, false}, // a process that took the supervisor's port
		{2 * time.Second, 7, unsigned, TermUnsigned, false},
		{3 * time.Second, 8, signedTerm(farmKey, "a", 8), "", true},
		{4 * time.Second, 8, signedTerm(farmKey, "a", 8), "", false},
		{5 * time.Second, 1 << 50, nil, TermUnsigned, false},
		{5 * time.Second, 9, unsigned, TermUnsigned, false},
		{6 * time.Second, 10, forged, TermForged, false},
		{6 * time.Second, 11, signedTerm(farmKey, "a", 10), TermForged, false},
		{7 * time.Second, 20, signedTerm(otherKey, "a", 20), TermOtherFarm, false},
		{8 * time.Second, 7, signedTerm(farmKey, "a", 7), TermLower, false},
		{8 * time.Second, 8, twin, TermLower, false},                        // the same number, given again
		{9 * time.Second, 9, signedTerm(farmKey, "b", 9), TermOther, false}, // 5 s after the last of a
		{14 * time.Second, 8, signedTerm(farmKey, "b", 8), TermLower, false},
		{15 * time.Second, 9, signedTerm(farmKey, "b", 9), "", true},
		{60 * time.Second, 30, signedTerm(farmKey, "a", 30), TermSuperseded, false},
		{61 * time.Second, 10, signedTerm(farmKey, "b", 10), "", true},
	} {
		if n == 0 {
			core = NewCore(api.Sync{}, DefaultLimits(), 1)
		}
		why, saved := hearTerm(core, step.at, step.epoch, step.term)
		if why != step.why || (saved != nil) != step.saved {
			t.Errorf("step %d: refused %q, saved %v; want %q, %v", n, why, saved, step.why, step.saved)
		}
	}
	held := core.heldTerm()
	if held == nil || !held.Proves(*signedTerm(farmKey, "b", 10)) || held.Proves(*signedTerm(farmKey, "b", 11)) || !slices.Equal(held.Superseded, []string{"a"}) {
		t.Errorf("the worker reports %+v", held)
	}
	if slices.Equal(held.Proof, core.held.Term.Signature) {
		t.Error("the worker gives the signature away")
	}
}

// The list of lineages that are obeyed no more is bounded.
func TestSupersededIsBounded(t *testing.T) {
	c := NewCore(api.Sync{}, DefaultLimits(), 1)
	for n := range int64(3 * api.MaxSuperseded) {
		if why, saved := hearTerm(c, time.Duration(n)*time.Minute, n, signedTerm(farmKey, string(rune('a'+n)), n)); saved == nil {
			t.Fatalf("term %d is refused: %s", n, why)
		}
	}
	if got := len(c.held.Superseded); got != api.MaxSuperseded {
		t.Errorf("%d lineages", got)
	}
}
