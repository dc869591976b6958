package storetest

import (
	"cmp"
	"maps"
	"slices"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

// memoryProfiles are the rows of profiles.
type memoryProfiles map[facts.ProfileKey]facts.ProfileFacts

func (m memoryProfiles) apply(w facts.Write, undo *undoLog) error {
	var batch rules.ProfileWrites
	if err := batch.Add(w); err != nil {
		return err
	}
	for _, w := range batch.List {
		if w.Gone {
			remove(undo, m, w.ProfileKey)
		} else {
			put(undo, m, w.ProfileKey, w.ProfileFacts)
		}
	}
	return nil
}

func (m memoryProfiles) load() []facts.ProfileFacts {
	return slices.SortedFunc(maps.Values(m), func(a, b facts.ProfileFacts) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name))
	})
}

// memoryResources are the rows of resources, by name.
type memoryResources map[string]facts.ResourceFacts

func (m memoryResources) apply(w facts.PutResource, undo *undoLog) error {
	var batch rules.ResourceWrites
	if err := batch.Add(w); err != nil {
		return err
	}
	for _, row := range batch.List {
		put(undo, m, row.Name, row)
	}
	return nil
}

func (m memoryResources) load() []facts.ResourceFacts {
	return slices.SortedFunc(maps.Values(m), func(a, b facts.ResourceFacts) int { return cmp.Compare(a.Name, b.Name) })
}

// memoryBreakages are the rows of breakages, by sender.
type memoryBreakages map[facts.Sender]facts.BreakageFacts

func (m memoryBreakages) apply(w facts.PutBreakage, undo *undoLog) error {
	var batch rules.BreakageWrites
	if err := batch.Add(w); err != nil {
		return err
	}
	for _, row := range batch.List {
		put(undo, m, row.Sender, row)
	}
	for sender, row := range m {
		if row.At.Before(w.Breakage.At.Add(-facts.BreakageKept)) {
			remove(undo, m, sender)
		}
	}
	return nil
}

func (m memoryBreakages) load() []facts.BreakageFacts {
	return slices.SortedFunc(maps.Values(m), func(a, b facts.BreakageFacts) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Job, b.Job),
			cmp.Compare(a.Owner, b.Owner))
	})
}
