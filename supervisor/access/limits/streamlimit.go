package limits

import (
	"sync"
	"time"
)

// streamWait is the Retry-After of a refused stream.
const streamWait = 15 * time.Second

// partOfOne: one user has an eighth of all places at most, by however many credentials.
const partOfOne = 8

// StreamLimit bounds how many streams of a kind are open: of one credential, of one user, and in all; the last are for
// operators.
type StreamLimit struct {
	limit    string
	all      int
	reserved int

	mu   sync.Mutex
	of   map[string]int // by credential
	user map[string]int
	open int
}

// NewStreamLimit has places for so many streams in all, the last of which are reserved for operators.
func NewStreamLimit(limit string, all, reserved int) *StreamLimit {
	return &StreamLimit{limit: limit, all: all, reserved: reserved, of: map[string]int{}, user: map[string]int{}}
}

// Enter takes a place for a user's credential; leave gives it back. Most is how many places one credential may have, by
// the setting of that key; 0 is no limit. The reserved places are for operators.
func (p *StreamLimit) Enter(user, credential string, operator bool, most int, key string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	room := p.all
	if !operator {
		room -= p.reserved
	}
	switch {
	case most > 0 && p.of[credential] >= most:
		return nil, Beyond(p.limit, streamWait, "%s has %d %s open already, the limit of one credential (%s); close some",
			user, p.of[credential], words(p.limit), key)
	case p.user[user] >= p.all/partOfOne:
		return nil, Beyond(p.limit, streamWait, "%s has %d %s open already, the limit of one user; close some", user,
			p.user[user], words(p.limit))
	case p.open >= room:
		return nil, Beyond(p.limit, streamWait, "%d %s are open already; try again later", p.open, words(p.limit))
	}
	p.open++
	p.of[credential]++
	p.user[user]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open--
		if p.of[credential]--; p.of[credential] == 0 {
			delete(p.of, credential)
		}
		if p.user[user]--; p.user[user] == 0 {
			delete(p.user, user)
		}
	}), nil
}

func words(limit string) string {
	if limit == Streams {
		return "event streams"
	}
	return "followed logs"
}
