package message

// InstanceLimits are how many instances may run together.
type InstanceLimits struct {
	User    InstanceLimit // of one user
	PGrp    InstanceLimit // of one process group, named by its user
	Account InstanceLimit // of one account
}

// InstanceLimit is the limit of a name, else the default; nil: none. A negative limit is none.
type InstanceLimit struct {
	Default *int
	Named   map[string]int
}

// Of is the limit of a name.
func (l InstanceLimit) Of(name string) (most int, limited bool) {
	most, named := l.Named[name]
	if !named {
		if l.Default == nil {
			return 0, false
		}
		most = *l.Default
	}
	return most, most >= 0
}
