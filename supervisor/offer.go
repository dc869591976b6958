package supervisor

import (
	"strings"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/problem"
)

// Limits of what one worker may offer and report.
const (
	maxSyncList   = 10_000   // instances, ends or specifications of one sync
	maxCores      = 65_536   // of a machine
	maxDevices    = 1_000    // GPUs of a host, each of which is given by itself
	maxOffers     = 1_000    // groups, properties or resources
	maxOfferBytes = 64 << 10 // of their names and values together
)

// checkOffer bounds what every listing of hosts repeats and every plan looks at.
func checkOffer(s *api.Sync) error {
	bytes := 0
	for _, group := range s.Groups {
		bytes += len(group)
	}
	for name, value := range s.Properties {
		bytes += len(name) + len(value)
	}
	for name, value := range s.Resources {
		bytes += len(name)
		if err := checkText("resources", name, facts.MaxPath); err != nil {
			return err
		}
		if value < 0 || value > 1<<53 || (strings.TrimPrefix(name, "host.") == "gpus" && value > maxDevices) {
			return problem.Invalid("resources", "%s = %d: use 0 to 2^53, and at most %d gpus", problem.Clip(name), value, maxDevices)
		}
	}
	if bytes > maxOfferBytes || max(len(s.Groups), len(s.Properties), len(s.Resources)) > maxOffers {
		return problem.Invalid("properties", "groups, properties and resources have %d bytes; at most %d, and %d of each, are taken", bytes, maxOfferBytes, maxOffers)
	}
	return nil
}
