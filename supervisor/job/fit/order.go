package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"qb/agenda"
)

// parseRestrictions reads patterns of host clusters joined by ||: /show is that cluster alone, /show/* those
// one level below it, /show/+ all below it.
func parseRestrictions(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var patterns []string
	for part := range strings.SplitSeq(text, "||") {
		p := strings.TrimSpace(part)
		path, wild := strings.CutSuffix(p, "/*")
		if !wild {
			path = strings.TrimSuffix(p, "/+")
		}
		if !strings.HasPrefix(p, "/") || strings.ContainsAny(path, "*+|& ") || strings.Contains(p, "//") {
			return nil, fmt.Errorf("restrictions %q: %q is no pattern of clusters; write /show, /show/* (one level below) or /show/+ (all below), joined by ||", text, p)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// within says whether one of the patterns matches a host's cluster; none at all match every host.
func within(patterns []string, cluster string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		if top, wild := strings.CutSuffix(p, "+"); wild {
			return strings.HasPrefix(cluster, top) && len(cluster) > len(top)
		}
		if top, wild := strings.CutSuffix(p, "*"); wild {
			rest, below := strings.CutPrefix(cluster, top)
			return below && rest != "" && !strings.Contains(rest, "/")
		}
		return p == cluster
	})
}

// Preference is one word of a host order: more of the property is better, or less.
type Preference struct {
	property string
	more     bool
}

// parseHostOrder reads a list such as +host.memory.avail,-host.processors.used.
func parseHostOrder(text string, known []agenda.Property) ([]Preference, error) {
	var order []Preference
	for part := range strings.SplitSeq(text, ",") {
		word := strings.TrimSpace(part)
		if word == "" {
			continue
		}
		name := strings.TrimLeft(word, "+-")
		at := slices.IndexFunc(known, func(p agenda.Property) bool {
			return p.Name == name || (strings.HasSuffix(p.Name, ".*") &&
				strings.HasPrefix(name, strings.TrimSuffix(p.Name, "*")))
		})
		switch {
		case len(word)-len(name) > 1 || !strings.HasPrefix(name, "host.") || at < 0:
			return nil, fmt.Errorf("hostorder %q: %q is no preference; write +PROPERTY or -PROPERTY, such as +host.memory.avail",
				text, word)
		case known[at].Kind == agenda.KindList:
			return nil, fmt.Errorf("hostorder %q: %s is a list, which has no order; use a number, a size or a text", text, name)
		}
		order = append(order, Preference{name, !strings.HasPrefix(word, "-")})
	}
	return order, nil
}

// SiteOrder reads a site's default preference among hosts. Properties that hosts bring may be used: which there are is
// not known before they come.
func SiteOrder(text string) ([]Preference, error) {
	return parseHostOrder(text, append(slices.Clone(Properties), agenda.Property{Name: "host.*", Kind: agenda.KindText}))
}

// More says whether a host with more of the property is better.
func (p Preference) More() bool { return p.more }

// PerSlot is by how much the property grows with each slot of a host that is taken.
func (p Preference) PerSlot() int {
	switch p.property {
	case "host.processors.used":
		return 1
	case "host.processors.avail":
		return -1
	}
	return 0
}

// OrderValue is a host's value of a property by which hosts are ordered.
type OrderValue struct {
	Has    bool
	Number float64
	Text   string
}

// Value is a host's value of the property.
func (p Preference) Value(h *Host, load Load) OrderValue {
	v, has := h.property(p.property, load)
	return OrderValue{has, v.Number, v.Text}
}

// Compare orders two values, with more that of the host which has more first. A host without the property comes last.
func (v OrderValue) Compare(other OrderValue, more bool) int {
	if v.Has != other.Has {
		if v.Has {
			return -1
		}
		return 1
	}
	c := cmp.Or(cmp.Compare(v.Number, other.Number), cmp.Compare(v.Text, other.Text))
	if more {
		return -c
	}
	return c
}

// Compare orders two hosts by the job's host order.
func (n *Needs) Compare(a *Host, ofA Load, b *Host, ofB Load) int {
	for _, p := range n.Order {
		if c := p.Value(a, ofA).Compare(p.Value(b, ofB), p.more); c != 0 {
			return c
		}
	}
	return 0
}
