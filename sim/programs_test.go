package sim

import "qb/supervisor/farm/message"

// programs are what the programs without an item hold of a host, which no row tells.
func programs(h *message.HostView) (slots int, memory, other int64) {
	for _, i := range h.Instances {
		if i.State == "loaded" || i.State == "unloading" {
			slots += i.Slots
			memory += i.Memory
			for _, n := range i.Holds {
				other += n
			}
		}
	}
	return slots, memory, other
}
