package facts

import (
	"fmt"
	"slices"
	"strings"
)

// Link is one condition on another job: its End is complete, done, failed or killed.
type Link struct {
	End string `json:"end"`
	Job JobID  `json:"job"`
}

// ParseDependency reads 900, 900,901 and link-complete-job-900 (complete, done, failed or killed).
func ParseDependency(text string) ([]Link, error) {
	var links []Link
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		end, number := "complete", part
		if rest, ok := strings.CutPrefix(part, "link-"); ok {
			fields := strings.SplitN(rest, "-", 3)
			if len(fields) != 3 || fields[1] != "job" {
				return nil, fmt.Errorf("dependency %q is not understood; write 900 or link-complete-job-900 (complete, done, failed, killed; only on jobs)", part)
			}
			end, number = fields[0], fields[2]
		}
		var id JobID
		if _, err := fmt.Sscanf(number, "%d", &id); err != nil || fmt.Sprint(id) != number || id < 1 {
			return nil, fmt.Errorf("dependency %q names no job: %q is not a job's number", part, number)
		}
		if !slices.Contains([]string{"complete", "done", "failed", "killed"}, end) {
			return nil, fmt.Errorf("dependency %q: a job ends complete, failed or killed (done: any of them), not %q", part, end)
		}
		links = append(links, Link{End: end, Job: id})
	}
	return links, nil
}

// Satisfied says whether a parent in this state fulfils the link.
func (l Link) Satisfied(s JobState) bool {
	switch l.End {
	case "done":
		return s.Final()
	case "complete":
		return s == Complete
	case "failed":
		return s == FailedJob
	case "killed":
		return s == KilledJob
	}
	return false
}
