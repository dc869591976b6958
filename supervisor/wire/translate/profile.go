package translate

import (
	"qb/api"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
)

// Profile is a profile on the wire.
func Profile(k profiles.Profile) api.Profile {
	return api.Profile{Name: k.Name, User: k.Owner, Learned: learned(k.Estimate), Latest: timeOrNil(k.Latest), By: k.By}
}

func learned(e facts.Estimate) api.Learned {
	return api.Learned{Memory: e.Memory, Seconds: e.Seconds, Items: e.Items, Jobs: e.Jobs, MemorySet: e.MemorySet,
		SecondsSet: e.SecondsSet}
}
