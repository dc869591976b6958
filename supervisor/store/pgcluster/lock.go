package pgcluster

import "qb/internal/statedir"

// Lock takes the farm's state folder for this process, making it if need be. While it is held, `<state>/farm.lock`
// has the holder's pid in it. The lock ends with release or with the process, however that ends.
func Lock(state string) (release func(), err error) {
	return lockFile(state, "farm.lock")
}

func lockFile(state, name string) (release func(), err error) {
	if err := statedir.Make(state, 0o700); err != nil {
		return nil, err
	}
	return statedir.Lock(state, name, "stop that one, or give another -state")
}
