package osusers

import (
	"context"
	"errors"
	"os/user"
	"strconv"
	"sync"
	"time"

	"qb/supervisor/job/fit"
)

// User is what is known of a user of this machine.
type User struct {
	Account *fit.Account // nil: that could not be found out
	Groups  []string
	Unsure  bool // there may be more groups
}

// Users looks users up. The zero value is ready.
type Users struct {
	mu       sync.Mutex
	known    map[string]*entry
	underway int
}

type entry struct {
	user User
	at   time.Time     // of the last look; zero: none has ended
	done chan struct{} // of a look under way, closed at its end; nil: none is
}

const (
	life   = 10 * time.Second // of what was found, so that a new user is not refused for long
	most   = 4096             // names
	atOnce = 32               // looks under way: a directory service that hangs holds no more threads
	within = time.Second      // for which a request waits
)

// Of returns the user of that name. If looking takes too long it is what was known before, or nothing.
func (a *Users) Of(ctx context.Context, name string) User {
	e, done := a.look(name)
	if done != nil {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.at.IsZero() {
		return User{Unsure: true}
	}
	return e.user
}

// look begins to look a user up if what is known is too old; done is nil if there is nothing to wait for.
func (a *Users) look(name string) (e *entry, done chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e = a.known[name]
	switch {
	case e != nil && e.done != nil:
		return e, e.done
	case e != nil && time.Since(e.at) < life:
		return e, nil
	case e == nil:
		if a.known == nil || len(a.known) >= most {
			a.known = map[string]*entry{}
		}
		e = &entry{}
		a.known[name] = e
	}
	if a.underway >= atOnce {
		return e, nil
	}
	a.underway++
	e.done = make(chan struct{})
	go a.find(name, e, e.done)
	return e, e.done
}

func (a *Users) find(name string, e *entry, done chan struct{}) {
	found := lookUp(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	if found.Unsure && !e.at.IsZero() {
		found.Groups = e.user.Groups // the last ones that were known
	}
	a.underway--
	e.user = found
	e.at = time.Now()
	e.done = nil
	close(done)
}

func lookUp(name string) User {
	u, err := user.Lookup(name)
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		return User{Account: &fit.Account{Unknown: true}}
	}
	if err != nil {
		return User{Unsure: true}
	}
	var found User
	if uid, err := strconv.ParseUint(u.Uid, 10, 32); err == nil {
		found.Account = &fit.Account{UID: uint32(uid)}
	}
	ids, err := u.GroupIds()
	found.Unsure = err != nil
	for _, id := range ids {
		g, err := user.LookupGroupId(id)
		if unknown := user.UnknownGroupIdError(""); errors.As(err, &unknown) {
			continue // a group without a name has no account either
		}
		if found.Unsure = found.Unsure || err != nil; err == nil {
			found.Groups = append(found.Groups, g.Name)
		}
	}
	return found
}
