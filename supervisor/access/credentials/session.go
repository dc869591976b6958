package credentials

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"sync"
	"time"

	"qb/supervisor/lead/farmkey"
	"qb/supervisor/store"
)

// Process identifies one run of a supervisor to the page. Requests are signed for this run only: another program that
// takes the port after its end cannot use what it receives, neither at the next supervisor nor anywhere else. A login
// code ends with the run that made it, because a link may lead to another program's document by then.
type Process struct {
	ID     string // says which run a request was signed for; no secret
	secret []byte // makes the keys of codes
}

// NewProcess is this run.
func NewProcess() Process {
	random := make([]byte, 16+32)
	_, _ = rand.Read(random) // never fails; the program ends if the system has no randomness
	return Process{ID: hex.EncodeToString(random[:16]), secret: random[16:]}
}

// KeyOfCode is what a page that has a code signs with.
func (p Process) KeyOfCode(id string) []byte { return MAC(p.secret, "code", id) }

// CodeText is the text of a code, which a link has in its fragment.
func (p Process) CodeText(t store.Token) string {
	return "qb_" + t.Role + "_" + t.ID + "_" + base64.RawURLEncoding.EncodeToString(p.KeyOfCode(t.ID))
}

// PageKey is what a page signs with by that row; nil if the row is neither of a session nor of the code for one.
func (p Process) PageKey(key farmkey.Key, t store.Token) []byte {
	switch {
	case t.SessionOf == "":
		return nil
	case t.UsesLeft != nil:
		return p.KeyOfCode(t.ID)
	}
	return key.SessionKey(t.ID)
}

// WrapKey encrypts the key of a session for the page that has the code.
func (p Process) WrapKey(key farmkey.Key, code, session string) []byte {
	block, err := aes.NewCipher(MAC(p.KeyOfCode(code), "qb wrap 1", session))
	if err != nil {
		panic(err) // a MAC has the size of a key
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the size of block that GCM wants
	}
	return sealer.Seal(nil, nil, key.SessionKey(session), nil)
}

// MAC is over lines, none of which may have a line break. Compare with hmac.Equal.
func MAC(key []byte, lines ...string) []byte {
	h := hmac.New(sha256.New, key)
	for n, line := range lines {
		if n > 0 {
			h.Write([]byte("\n"))
		}
		h.Write([]byte(line))
	}
	return h.Sum(nil)
}

// Limits of the numbers of requests.
const (
	window      = 1024 // a request may come after that many later ones
	prunedFirst = 1024 // sessions, until the first look for ended ones
)

// Counts refuses a number of a request that a session has used before.
type Counts struct {
	mu    sync.Mutex
	of    map[string]*counted
	prune int
}

type counted struct {
	until time.Time // when the session ends
	most  uint64
	used  [window / 64]uint64 // of the numbers up to most
}

// Take reports whether the number is new, and notes it.
func (c *Counts) Take(t store.Token, number uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]*counted{}
		c.prune = prunedFirst
	}
	n := c.of[t.ID]
	if n == nil {
		c.dropEnded()
		n = &counted{until: t.ExpiresAt}
		c.of[t.ID] = n
	}
	return n.take(number)
}

// dropEnded keeps the map as large as there are sessions.
func (c *Counts) dropEnded() {
	if len(c.of) < c.prune {
		return
	}
	now := time.Now()
	for id, n := range c.of {
		if now.After(n.until) {
			delete(c.of, id)
		}
	}
	c.prune = max(prunedFirst, 2*len(c.of))
}

func (n *counted) take(number uint64) bool {
	if number == 0 || number+window <= n.most {
		return false
	}
	for ; n.most < number && number-n.most <= window; n.most++ {
		n.set(n.most+1, false)
	}
	if n.most < number {
		n.used = [window / 64]uint64{}
		n.most = number
	}
	if n.used[number%window/64]&(1<<(number%64)) != 0 {
		return false
	}
	n.set(number, true)
	return true
}

func (n *counted) set(number uint64, used bool) {
	word, bit := &n.used[number%window/64], uint64(1)<<(number%64)
	*word &^= bit
	if used {
		*word |= bit
	}
}
