package credentials

import (
	"os/user"
	"slices"
	"strconv"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
)

// PeerCache remembers who the uids at the other end of the unix socket are, and whether the farm is open to them.
type PeerCache struct {
	mu    sync.Mutex
	byUID map[uint32]knownPeer
	list  string // the lists that the answers are of
}

// maxPeers are the uids remembered.
const maxPeers = 10_000

type knownPeer struct {
	principal Principal
	err       error
	at        time.Time
}

// Principal is who the peer is, or why it is refused under the configuration.
func (c *PeerCache) Principal(p Peer, cfg *settings.Config) (Principal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := cfg.Users + "\n" + cfg.Groups
	if c.list != list || len(c.byUID) >= maxPeers || c.byUID == nil {
		c.byUID, c.list = map[uint32]knownPeer{}, list
	}
	known, ok := c.byUID[p.Uid]
	if p.err != nil || !ok || time.Since(known.at) >= tokenCacheFor {
		known = knownPeer{at: time.Now()}
		if known.principal, known.err = p.Principal(); known.err == nil {
			known.err = Admitted(known.principal, p.Uid, cfg)
		}
		if p.err == nil {
			c.byUID[p.Uid] = known
		}
	}
	return known.principal, known.err
}

// Admitted refuses users of the socket whom supervisor_users and supervisor_groups leave out.
func Admitted(p Principal, uid uint32, cfg *settings.Config) error {
	users, groups := facts.SplitList(cfg.Users), facts.SplitList(cfg.Groups)
	if p.Role == api.Admin || len(users)+len(groups) == 0 || slices.Contains(users, p.User) {
		return nil
	}
	if u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10)); err == nil && len(groups) > 0 {
		ids, _ := u.GroupIds() // none are none of those
		for _, id := range ids {
			if g, err := user.LookupGroupId(id); err == nil && slices.Contains(groups, g.Name) {
				return nil
			}
		}
	}
	return api.Errorf(api.KindForbidden,
		"user %s is neither in supervisor_users nor in a group of supervisor_groups; ask the farm's administrator", p.User)
}
