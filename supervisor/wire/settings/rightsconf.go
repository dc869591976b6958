package settings

import "qb/api"

// UserRights are the rights of the role user.
func (c Config) UserRights() api.Rights {
	if c.DefaultSecurity == "" {
		return api.DefaultRights
	}
	rights, _ := api.ReadRights(c.DefaultSecurity) // Validate has read them
	return rights
}

// checkRights refuses rights that no user has by default.
func (c Config) checkRights(check func(ok bool, key string, value any, wayOut string)) {
	rights, wrong := api.ReadRights(c.DefaultSecurity)
	check(c.DefaultSecurity == "" || wrong == "" && api.UserRights.Has(rights) && rights.Has(api.MaySee),
		"supervisor_default_security", c.DefaultSecurity,
		"write a number as Qube does, or names of rights with see among them, such as see,output,submit_job,kill; admin and sudo are given to single users")
}
