package output

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"qb/api"
	"qb/internal/units"
)

// Running is primaries + secondaries, and what is leaving.
func Running(n api.InstanceCounts) string {
	text := fmt.Sprintf("%d+%d", n.Primary, n.Secondary)
	if n.Draining > 0 {
		text += fmt.Sprintf("-%d", n.Draining)
	}
	return text
}

// HostRemark says what is wrong with a host, and who else reports its name.
func HostRemark(h api.Host) string {
	var words []string
	if h.Remark != "" {
		words = append(words, h.Remark)
	}
	for _, c := range h.Claims {
		words = append(words, c.Text)
	}
	return strings.Join(words, "; ")
}

// RemarkStyle marks a host with a remark: it gives less than it could, or none of it to some.
func RemarkStyle(h api.Host) lipgloss.Style {
	if HostRemark(h) == "" {
		return lipgloss.NewStyle()
	}
	return StatusStyle("blocked")
}

// SwapOf is how much swap space a host has, uses, and swaps in and out.
func SwapOf(h api.Host) string {
	return fmt.Sprintf("%s of %s, %s/s", units.Size(h.Swap.Used), units.Size(h.Swap.Total), units.Size(h.Swap.Rate))
}

// JobsOn is a host's work in short: 12×3 are three instances of job 12.
func JobsOn(h api.Host) string {
	count := map[int64]int{}
	var ids []int64
	for _, i := range h.Instances {
		if count[i.Job]++; count[i.Job] == 1 {
			ids = append(ids, i.Job)
		}
	}
	slices.Sort(ids)
	var words []string
	for _, id := range ids {
		words = append(words, fmt.Sprintf("%d×%d", id, count[id]))
	}
	return strings.Join(words, " ")
}
