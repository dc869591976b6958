package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"qb/api"
)

// TestTurns: who has sent a hundred calls waits for them alone; another user's call goes next, and an operator's at
// once.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewPools(Searches, "searching", 2, 1, 1)
		var mu sync.Mutex
		most, working := 0, 0
		call := func(user string, operator bool) time.Duration {
			began := time.Now()
			leave, err := turns.Take(t.Context(), user, operator)
			if err != nil {
				return -1
			}
			defer leave()
			waited := time.Since(began)
			mu.Lock()
			if user == "mallory" {
				working++
				most = max(most, working)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			if user == "mallory" {
				working--
			}
			mu.Unlock()
			return waited
		}
		refused := 0
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				if call("mallory", false) < 0 {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		for _, user := range []string{"ann", "bob", "eve"} {
			calls.Go(func() {
				if waited := call(user, false); waited < 0 || waited > 2*time.Second {
					t.Errorf("%s waited %s", user, waited)
				}
			})
		}
		calls.Go(func() {
			if waited := call("boss", true); waited != 0 {
				t.Errorf("an operator waited %s", waited)
			}
		})
		calls.Wait()
		if most != 1 || refused < 90 {
			t.Errorf("one user had %d places, and %d of his calls were refused", most, refused)
		}
		if n := len(turns.working) + len(turns.places[false].queues); n != 0 || turns.places[false].free != 2 ||
			turns.places[true].free != 1 {
			t.Errorf("%d users are left, %d and %d places", n, turns.places[false].free, turns.places[true].free)
		}
	})
}

// TestTurnsOfOneWhoLeaves: a caller who leaves gives up his place in the line.
func TestTurnsOfOneWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewPools(Reads, "reading", 1, 1, 0)
		leave, err := turns.Take(t.Context(), "ann", false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		if _, err := turns.Take(ctx, "bob", false); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		leave()
		leave()
		if leave, err = turns.Take(t.Context(), "eve", false); err != nil {
			t.Fatal(err)
		}
		leave()
		if turns.places[false].free != 1 {
			t.Errorf("%d places", turns.places[false].free)
		}
	})
}

// TestAtOnce: calls beyond the limit of a user are refused with the time to wait; others have their own.
func TestAtOnce(t *testing.T) {
	calls := NewAtOnce(Heavy, 2)
	var leaves []func()
	for n := range 3 {
		leave, err := calls.Enter("mallory")
		var refused *api.Error
		if n == 2 && (!errors.As(err, &refused) || refused.Kind != api.KindLimit || refused.Limit != Heavy ||
			refused.RetryAfter == 0) || n < 2 && err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		leaves = append(leaves, leave)
	}
	if _, err := calls.Enter("ann"); err != nil {
		t.Error(err)
	}
	leaves[0]()
	leaves[0]()
	if _, err := calls.Enter("mallory"); err != nil {
		t.Error(err)
	}
	if _, err := calls.Enter("mallory"); err == nil {
		t.Error("a place was given back twice")
	}
	for n := range 1000 {
		if leave, err := calls.Enter(fmt.Sprint("u", n)); err == nil {
			leave()
		}
	}
	if len(calls.byUser) != 2 {
		t.Errorf("%d users are remembered", len(calls.byUser))
	}
}
