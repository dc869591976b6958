package settings

import (
	"time"

	"qb/api"
	"qb/internal/units"
	"qb/supervisor/farm/items"
	"qb/supervisor/share/slottime"
)

// Size is a size whose number alone is in MiB.
type Size = units.MiBytes

// Duration is a time span whose number alone is in seconds.
type Duration = units.Span

// Day is a day of 24 hours.
const Day = units.Day

// checkNeeds looks at what concerns memory, CPU time and time limits.
func (c Config) checkNeeds(check func(ok bool, key string, value any, wayOut string)) {
	part := func(key string, v float64) { check(v > 0 && v <= 1, key, v, "use more than 0 and at most 1") }
	check(c.DefaultMemory > 0, "supervisor_default_memory", c.DefaultMemory, "use more than 0, such as 2GiB")
	part("supervisor_memory_quantile", c.MemoryQuantile)
	check(c.MemoryMargin >= 1 && c.MemoryMargin <= 10, "supervisor_memory_margin", c.MemoryMargin, "use 1 to 10")
	check(c.CPUShareSeed >= 0, "supervisor_cpu_share_seed", c.CPUShareSeed, "use 0 or more")
	part("supervisor_cpu_share_quantile", c.CPUShareQuantile)
	check(c.AvoidAfter >= 0 && c.AvoidAfter <= 1000, "supervisor_avoid_after", c.AvoidAfter,
		"use 1 to 1000, or 0 for never")
	check(c.AvoidFor.Std() >= time.Second && c.AvoidFor.Std() <= 7*24*time.Hour, "supervisor_migrate_timeout", c.AvoidFor,
		"use 1s to 168h")
	check(c.TimeFactor == 0 || (c.TimeFactor >= 1 && c.TimeFactor <= 1e6), "supervisor_time_factor", c.TimeFactor,
		"use 1 to 1000000, or 0 for none")
}

// MemoryPolicy is how memory is estimated and placed.
func (c Config) MemoryPolicy() items.MemoryPolicy {
	return items.MemoryPolicy{Default: int64(c.DefaultMemory), Placement: c.Placement, Quantile: c.MemoryQuantile,
		Margin: c.MemoryMargin, Trim: c.MemoryTrim}
}

func (c Config) cpuSharePolicy() slottime.Policy {
	return slottime.Policy{Mode: c.CPUShare, By: c.CPUShareBy, Seed: uint64(c.CPUShareSeed), Quantile: c.CPUShareQuantile}
}

// Offered returns the memory that an agent offers to the farm; the farm marks impossible numbers. An agent that
// reserves all of its memory offers 1 byte, because 0 means that its memory is unknown.
func Offered(m api.SyncMemory) int64 {
	bytes := max(0, m.Total-max(0, m.Reserve))
	if m.Total > 0 {
		bytes = max(1, bytes)
	}
	if m.Cap > 0 {
		bytes = min(bytes, m.Cap)
	}
	return bytes
}
