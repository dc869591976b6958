package facts

import (
	"slices"
	"strings"
)

// States of items and instances, as orders choose by them.
const (
	ItemPending   = "pending"
	ItemRunning   = "running"
	ItemBlocked   = "blocked"
	ItemSuspended = "suspended"
	ItemComplete  = "complete"
	ItemFailed    = "failed"
	ItemKilled    = "killed"
)

var (
	unfinishedItems = []string{ItemPending, ItemRunning, ItemBlocked, ItemSuspended}
	endedItems      = []string{ItemComplete, ItemFailed, ItemKilled}
	liveItems       = []string{ItemRunning, ItemSuspended}
)

// ItemStates are all of them.
var ItemStates = slices.Concat(unfinishedItems, endedItems)

// takes has for each order the states of items, and of instances, that it changes. What acts on whole jobs alone is not
// in it.
var takes = map[Action][2][]string{
	Kill:      {unfinishedItems, unfinishedItems},
	Retry:     {endedItems, endedItems},
	Requeue:   {{ItemFailed, ItemKilled}, {ItemFailed, ItemKilled}},
	Redo:      {endedItems, endedItems},
	Block:     {{ItemPending, ItemRunning, ItemSuspended}, {ItemPending, ItemRunning, ItemSuspended}},
	Unblock:   {{ItemBlocked}, {ItemBlocked}},
	Interrupt: {liveItems, liveItems},
	Preempt:   {liveItems, liveItems},
	Suspend:   {{ItemRunning}, {ItemRunning}},
	Resume:    {{ItemSuspended}, {ItemSuspended}},
	Migrate:   {liveItems, liveItems},
	Retire:    {{ItemPending, ItemBlocked}, liveItems},
	ToComplete: {slices.Concat(unfinishedItems, []string{ItemFailed, ItemKilled}),
		slices.Concat(unfinishedItems, []string{ItemFailed, ItemKilled})},
	ToFailed: {unfinishedItems, unfinishedItems},
}

// TakesItems are the states of items that the order changes; nil: it acts on whole jobs.
func (a Action) TakesItems() []string { return takes[a][0] }

// TakesInstances are the states of instances that the order changes.
func (a Action) TakesInstances() []string { return takes[a][1] }

// Refuses is the first of the states that the order does not take, "" if it takes all.
func Refuses(takes, states []string) string {
	n := slices.IndexFunc(states, func(s string) bool { return !slices.Contains(takes, s) })
	if n < 0 {
		return ""
	}
	return states[n]
}

// Either names alternatives: a, b or c.
func Either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
