package farm

import (
	"maps"
	"strings"
)

// stock is what is left of the resources of a snapshot.
type stock struct {
	hosts []map[string]int64
	farm  map[string]int64
}

func newStock(s *Snapshot) stock {
	left := stock{farm: maps.Clone(s.Resources)}
	for _, h := range s.Hosts {
		left.hosts = append(left.hosts, maps.Clone(h.Resources))
	}
	return left
}

// of is where a resource is counted.
func (s stock) of(name string, host int) map[string]int64 {
	if strings.HasPrefix(name, "host.") {
		return s.hosts[host]
	}
	return s.farm
}

func (s stock) suffices(job *SnapJob, host int) bool {
	for name, each := range job.Takes {
		if s.of(name, host)[name] < each {
			return false
		}
	}
	return true
}

func (s stock) take(job *SnapJob, host int) {
	for name, each := range job.Takes {
		s.of(name, host)[name] -= each
	}
}

func (s stock) give(job *SnapJob, host int) {
	for name, each := range job.Takes {
		s.of(name, host)[name] += each
	}
}

// left is what remains of the resources after the plan.
func (f *checked) left() stock {
	left := newStock(&f.s)
	for _, r := range applied(f.s, f.p).Running {
		left.take(&f.s.Jobs[r.Job], r.Host)
	}
	return left
}

// drawResources gives the farm licences, the hosts GPUs, and the jobs wishes for some of them.
func drawResources(d *dice, s *Snapshot) {
	s.Resources = map[string]int64{"license.nuke": int64(d.roll(0, 7)), "license.maya": int64(d.roll(0, 9))}
	for h := range s.Hosts {
		if d.chance(60) {
			s.Hosts[h].Resources = map[string]int64{"host.gpus": int64(d.roll(1, 3))}
		}
	}
	for j := range s.Jobs {
		s.Jobs[j].Takes = map[string]int64{}
		for _, name := range []string{"license.nuke", "license.maya", "host.gpus"} {
			if d.chance(45) {
				s.Jobs[j].Takes[name] = int64(1 + d.roll(0, 3)/3)
			}
		}
	}
}
