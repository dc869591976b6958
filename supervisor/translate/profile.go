package translate

import (
	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/profiles"
)

// Profile is a profile on the wire.
func Profile(k profiles.Known) api.Profile {
	return api.Profile{Name: k.Name, User: k.Owner, Learned: learned(k.Estimate), Latest: timeOrNil(k.Latest), By: k.By}
}

func learned(e facts.Estimate) api.Learned {
	return api.Learned{Memory: e.Memory, Seconds: e.Seconds, Items: e.Items, Jobs: e.Jobs, MemorySet: e.MemorySet, SecondsSet: e.SecondsSet}
}
