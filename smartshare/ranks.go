package smartshare

import (
	"encoding/binary"
	"slices"
)

// grantByRank grants primaries where claims have tiers, rank after rank and in each one claim after another; whoever
// lacks some then has them where others can go to another rank instead. This is done first for those that need not wait
// for an end, as no rank is worth a wait, then for the others.
func (l *leveller) grantByRank(serve, ranks []int) {
	rest := make([]int, len(l.flow.room))
	for c, n := range l.field.Vacant {
		rest[c] = l.flow.room[c] - min(n, l.flow.room[c])
		l.flow.room[c] -= rest[c]
	}
	l.grantTiers(serve, ranks)
	if slices.ContainsFunc(rest, func(n int) bool { return n > 0 }) {
		for c, n := range rest {
			l.flow.room[c] += n
		}
		l.flow.revive()
		l.grantTiers(serve, ranks)
	}
}

// grantTiers grants what is still needed as far as the classes have room.
func (l *leveller) grantTiers(serve, ranks []int) {
	for _, i := range serve {
		if c := &l.field.Claims[i]; c.Tiers == nil {
			l.d.Grant[i] += l.grantFrom(c.Group, c.Need-l.d.Grant[i])
		}
	}
	for _, rank := range ranks {
		for _, i := range serve {
			l.grantTier(i, rank)
		}
	}
	l.grantAcross(serve)
}

func (l *leveller) grantFrom(group, units int) int {
	n := l.flow.push(group, units)
	l.need[group] += n
	return n
}

// grantTier grants a claim what it still needs where it has the rank.
func (l *leveller) grantTier(i, rank int) {
	c := &l.field.Claims[i]
	for k, t := range c.Tiers {
		if t.Rank == rank {
			n := l.grantFrom(t.Group, c.Need-l.d.Grant[i])
			l.d.Grant[i] += n
			l.d.Tier[i][k] += n
		}
	}
}

// grantAcross grants what is still needed while others move from one of their tiers to another: all claims of the same
// tiers have a node that leads to the groups of those.
func (l *leveller) grantAcross(serve []int) {
	if !slices.ContainsFunc(serve, func(i int) bool { return l.d.Grant[i] < l.field.Claims[i].Need }) {
		return
	}
	first := len(l.flow.arcs)
	node := l.tierNodes(serve)
	l.flow.revive()
	for _, i := range serve {
		l.d.Grant[i] += l.flow.push(node[i], l.field.Claims[i].Need-l.d.Grant[i])
	}
	for _, i := range serve {
		left := l.d.Grant[i]
		for k, t := range l.field.Claims[i].Tiers {
			a := &l.flow.arcs[node[i]][k] // its units are the group's from now on
			n := min(left, a.units)
			l.d.Tier[i][k] = n
			l.need[t.Group] += n
			left, a.units, a.limit = left-n, a.units-n, 0
		}
	}
	for n := first; n < len(l.flow.arcs); n++ {
		l.flow.kill(n)
	}
}

// tierNodes makes those nodes, one for each list of tiers, and gives them what their claims have; by claim its node.
func (l *leveller) tierNodes(serve []int) []int {
	node, known := make([]int, len(l.field.Claims)), map[string]int{}
	var key []byte
	for _, i := range serve {
		tiers := l.field.Claims[i].Tiers
		key = key[:0]
		for _, t := range tiers {
			key = binary.AppendVarint(binary.AppendVarint(key, int64(t.Rank)), int64(t.Group))
		}
		n, some := known[string(key)]
		if !some {
			arcs := make([]arc, len(tiers))
			for k, t := range tiers {
				arcs[k] = arc{to: l.flow.vertex(t.Group), limit: unbounded}
			}
			n = l.flow.addNode(arcs)
			known[string(key)] = n
		}
		node[i] = n
		for k, t := range tiers {
			l.flow.arcs[n][k].units += l.d.Tier[i][k]
			l.need[t.Group] -= l.d.Tier[i][k]
		}
	}
	return node
}
