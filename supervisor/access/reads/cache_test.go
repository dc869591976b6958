package reads

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"qb/api"
)

// TestShared: equal calls at a time share one reading; it is kept until the job changes, or for a minute.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, reads := NewCache(), 0
		read := func(context.Context) (Answer, error) {
			time.Sleep(time.Second)
			reads++
			return Answer{reads, 8}, nil
		}
		all := func(want int) {
			t.Helper()
			var calls sync.WaitGroup
			for range 10 {
				calls.Go(func() {
					if got, err := c.Get(t.Context(), Key{1, "states"}, read); err != nil || got != want {
						t.Errorf("%v, %v; want %d", got, err, want)
					}
				})
			}
			calls.Wait()
		}
		all(1)
		all(1)
		c.Note(2)
		all(1)
		c.Note(1)
		all(2)
		time.Sleep(keptFor)
		all(3)
		if c.bytes != 8 {
			t.Errorf("%d bytes are kept", c.bytes)
		}
	})
}

// TestChangeWhileReading: an answer that was read before a change is given to callers that asked before it, and is not
// cached.
func TestChangeWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began, rows := NewCache(), make(chan struct{}), 1
		go func() {
			_, _ = c.Get(t.Context(), Key{1, "states"}, func(context.Context) (Answer, error) {
				is := rows
				close(began)
				time.Sleep(time.Second)
				return Answer{is, 1}, nil
			})
		}()
		<-began
		rows = 2
		c.Note(1)
		for range 2 {
			got, err := c.Get(t.Context(), Key{1, "states"}, func(context.Context) (Answer, error) {
				return Answer{rows, 1}, nil
			})
			if err != nil || got != 2 {
				t.Errorf("%v, %v", got, err)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestLeaving: a reading ends when the last of its callers leaves, and not before; a refusal of the one who began it is
// his.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache()
		var ended atomic.Bool
		read := func(ctx context.Context) (Answer, error) {
			select {
			case <-ctx.Done():
				ended.Store(true)
				return Answer{}, ctx.Err()
			case <-time.After(10 * time.Second):
				return Answer{7, 1}, nil
			}
		}
		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{first, second} {
			go func() {
				if _, err := c.Get(ctx, Key{1, "states"}, read); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		leaveFirst()
		synctest.Wait()
		if ended.Load() {
			t.Error("it ended though somebody waits")
		}
		leaveSecond()
		synctest.Wait()
		if !ended.Load() || len(c.of) != 0 {
			t.Errorf("it goes on for nobody, %d are kept", len(c.of))
		}
		refused := &api.Error{Kind: api.KindLimit}
		go func() {
			_, _ = c.Get(t.Context(), Key{1, "states"}, func(context.Context) (Answer, error) {
				time.Sleep(time.Second)
				return Answer{}, refused
			})
		}()
		synctest.Wait()
		if got, err := c.Get(t.Context(), Key{1, "states"}, read); err != nil || got != 7 {
			t.Errorf("%v, %v", got, err)
		}
	})
}
