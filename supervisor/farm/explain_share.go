package farm

import "qb/supervisor/facts"

// addSharing tells by what rule other than the usual one the surplus is divided, and how it stands between those who share it.
func (f *Farm) addSharing(j *job, add func(kind, format string, args ...any)) {
	p := f.policy.Share
	if p.Mode == "none" || f.width(j) <= j.CPUs {
		return
	}
	if p.ByUser() {
		users := map[string]bool{}
		for _, other := range f.jobs {
			if other.State == facts.Active && other.remaining() > 0 {
				users[other.User] = true
			}
		}
		add("sharing", "by user, then by job: %s has %d of the surplus instances, %d users have work (supervisor_smart_share_mode)",
			j.User, f.surplusOf(j.User), len(users))
	}
	if f.policy.Fairshare.Weights {
		add("sharing", "by the owners' fairshare factors too: a heavier past weighs less (supervisor_smart_share_weights)")
	}
}

// surplusOnce is surplusOf, counted once for all jobs of a listing.
func (f *Farm) surplusOnce(user string, sight *sight) int {
	n, known := sight.surplus[user]
	if !known {
		n = f.surplusOf(user)
		sight.surplus[user] = n
	}
	return n
}

// surplusOf counts the secondary instances of a user's jobs.
func (f *Farm) surplusOf(user string) (n int) {
	for _, j := range f.jobs {
		if j.User == user {
			_, secondary, _ := j.counts()
			n += secondary
		}
	}
	return n
}
