package osusers

import (
	"errors"
	"os/user"
	"strconv"
	"sync"
	"time"

	"qb/supervisor/fit"
)

// Users looks users up. The zero value is ready.
type Users struct {
	mu    sync.Mutex
	known map[string]entry
}

type entry struct {
	account *fit.Account
	at      time.Time
}

const (
	life = 10 * time.Second // of what was found, so that a new user is not refused for long
	most = 4096             // names
)

// Of returns the user of that name; nil if that could not be found out.
func (a *Users) Of(name string) *fit.Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.known[name]; ok && time.Since(e.at) < life {
		return e.account
	}
	if a.known == nil || len(a.known) >= most {
		a.known = map[string]entry{}
	}
	found := lookUp(name)
	a.known[name] = entry{found, time.Now()}
	return found
}

func lookUp(name string) *fit.Account {
	u, err := user.Lookup(name)
	if unknown := user.UnknownUserError(""); errors.As(err, &unknown) {
		return &fit.Account{Unknown: true}
	}
	if err != nil {
		return nil
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil
	}
	return &fit.Account{UID: uint32(uid)}
}
