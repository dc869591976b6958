package model

// starts are the instances of a job by the start of their items.
type starts struct{ oldest, newest *Instance }

// beside are the instances of its job whose items started before and after the one of an instance.
type beside struct{ older, newer *Instance }

// insert puts an instance in its place. That is mostly the last.
func (s *starts) insert(i *Instance) {
	i.older = s.newest
	for i.older != nil && i.older.Attempt.StartedAt.After(i.Attempt.StartedAt) {
		i.older = i.older.older
	}
	if i.older == nil {
		i.newer, s.oldest = s.oldest, i
	} else {
		i.newer, i.older.newer = i.older.newer, i
	}
	if i.newer == nil {
		s.newest = i
	} else {
		i.newer.older = i
	}
}

// remove takes an instance out.
func (s *starts) remove(i *Instance) {
	if i.older == nil {
		s.oldest = i.newer
	} else {
		i.older.newer = i.newer
	}
	if i.newer == nil {
		s.newest = i.older
	} else {
		i.newer.older = i.older
	}
	i.beside = beside{}
}
