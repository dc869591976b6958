package core

// shown is the state that a sync reports: a tree that is being killed and does not die is no longer just stopping.
func (i *instance) shown() string {
	if i.stuck && i.state != StateIdle && i.state != StateClosing {
		return StateStuck
	}
	if i.state == StateClosing {
		return StateUnloading
	}
	return i.state
}
