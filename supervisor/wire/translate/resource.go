package translate

import (
	"qb/api"
	"qb/supervisor/job/licences"
)

// Resource is a resource of the whole farm on the wire.
func Resource(s licences.Status) api.Resource {
	r := api.Resource{
		Name: s.Name, Counted: s.Counted, Has: s.Has, Outside: s.Outside, Held: s.Held, Allowed: s.Allowed, Free: s.Free(),
		By: s.By, ReportedAt: timeOrNil(s.ReportedAt), Stale: s.Stale,
	}
	if s.Total >= 0 {
		r.Total = &s.Total
	}
	if s.Lowered >= 0 {
		r.LoweredTo, r.LoweredUntil = &s.Lowered, timeOrNil(s.LoweredUntil)
	}
	return r
}

// noLicence are the signs that a worker looks for.
func noLicence(signs []licences.Sign) (list []api.NoLicence) {
	for _, s := range signs {
		list = append(list, api.NoLicence{Resource: s.Resource, Pattern: s.Pattern, Exits: s.Exits})
	}
	return list
}
