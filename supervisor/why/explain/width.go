package explain

import (
	"fmt"

	"qb/supervisor/job/facts"
	"qb/supervisor/share/planner"
)

// widthReason says why the job takes no more instances.
func (j *Job) widthReason(p planner.SharePolicy, runs int) string {
	width := facts.Several(j.Width, "instance")
	switch {
	case runs <= j.Width:
		return fmt.Sprintf("this job already has all it may have: %s (%s)", width, j.widthCause(p))
	case p.Preempt == "disabled":
		return fmt.Sprintf("this job may run %s (%s); it runs %d, as none is taken back while supervisor_smart_share_preempt_policy is disabled", width, j.widthCause(p), runs)
	}
	return fmt.Sprintf("this job may run %s (%s); it runs %d, and the others leave", width, j.widthCause(p), runs)
}

// widerText says how a job that runs as wide as it may, while items wait, could run wider; "" if it is not so.
func (j *Job) widerText(p planner.SharePolicy) string {
	most := min(j.remaining(), p.MaxCPUsLimit)
	switch {
	case j.Pending == 0 || j.Held < j.Width:
		return ""
	case p.Mode != "none" && j.hasAgenda() && most > j.Width:
		return fmt.Sprintf("with qbmodify -mmax_cpus %d it may run %d wide", most, most)
	}
	return fmt.Sprintf("with qbmodify -mcpus %d it may run %d wide", j.remaining(), j.remaining())
}

func (j *Job) hasAgenda() bool { return j.Agenda.Range != "" }

// widthCause names the limit that the width comes from.
func (j *Job) widthCause(p planner.SharePolicy) string {
	raw, whose := p.DefaultMaxCPUs, "supervisor_default_max_cpus"
	if j.MaxCPUs != nil {
		raw, whose = *j.MaxCPUs, "max_cpus"
	}
	switch {
	case p.Mode == "none":
		return fmt.Sprintf("cpus %d, SmartShare is off", j.CPUs)
	case !j.hasAgenda():
		return fmt.Sprintf("cpus %d, a job without an agenda takes no surplus", j.CPUs)
	case j.Width == j.CPUs && j.CPUs > p.MaxCPUsLimit && raw != 0:
		return fmt.Sprintf("cpus %d, supervisor_max_cpus_limit %d", j.CPUs, p.MaxCPUsLimit)
	case j.Width == j.CPUs:
		return fmt.Sprintf("cpus %d, %s %d", j.CPUs, whose, raw)
	case raw < 0 || raw > p.MaxCPUsLimit:
		return fmt.Sprintf("cpus %d, supervisor_max_cpus_limit %d", j.CPUs, p.MaxCPUsLimit)
	}
	return fmt.Sprintf("cpus %d, %s %d", j.CPUs, whose, raw)
}
