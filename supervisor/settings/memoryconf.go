package settings

import (
	"fmt"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/items"
)

// Size is a number of bytes that is written as text, such as "2GB" or "512MB".
type Size int64

func (s Size) String() string { return agenda.FormatSize(int64(s)) }

// MarshalText is String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what agenda.ParseSize reads.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := agenda.ParseSize(string(text))
	if err != nil {
		return err
	}
	*s = Size(n)
	return nil
}

// checkNeeds looks at what concerns memory, CPU time and time limits.
func (c Config) checkNeeds(check func(ok bool, key string, value any, wayOut string)) {
	part := func(key string, v float64) { check(v > 0 && v <= 1, key, v, "use more than 0 and at most 1") }
	oneOf := func(key, value string, allowed ...string) {
		for _, a := range allowed {
			if value == a {
				return
			}
		}
		check(false, key, fmt.Sprintf("%q", value), fmt.Sprintf("use one of %v", allowed))
	}
	check(c.DefaultMemory > 0, "supervisor_default_memory", c.DefaultMemory, "use more than nothing, such as 2GB")
	oneOf("supervisor_placement", c.Placement, "best_fit", "spread", "pack")
	part("supervisor_memory_quantile", c.MemoryQuantile)
	check(c.MemoryMargin >= 1 && c.MemoryMargin <= 10, "supervisor_memory_margin", c.MemoryMargin, "use 1 to 10")
	oneOf("supervisor_cpu_share", c.CPUShare, "off", "stride", "lottery")
	check(c.CPUShareSeed >= 0, "supervisor_cpu_share_seed", c.CPUShareSeed, "use 0 or more")
	part("supervisor_cpu_share_quantile", c.CPUShareQuantile)
	check(c.TimeFactor == 0 || (c.TimeFactor >= 1 && c.TimeFactor <= 1e6), "supervisor_time_factor", c.TimeFactor, "use 1 to 1000000, or 0 for none")
}

// MemoryPolicy is how memory is estimated and placed.
func (c Config) MemoryPolicy() items.MemoryPolicy {
	return items.MemoryPolicy{Default: int64(c.DefaultMemory), Placement: c.Placement, Quantile: c.MemoryQuantile,
		Margin: c.MemoryMargin, Trim: c.MemoryTrim}
}

func (c Config) cpuSharePolicy() farm.CPUSharePolicy {
	return farm.CPUSharePolicy{Mode: c.CPUShare, Seed: uint64(c.CPUShareSeed), Quantile: c.CPUShareQuantile}
}

// Offered is what an agent has for the farm; a number that cannot be is left to the farm to mark. One that keeps
// all of its memory in reserve offers a byte: nothing at all would say that its memory is not known.
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
