package gate

import "qb/api"

// OneMeaning refuses bodies that another reader could read otherwise: with a member given twice. What their reader says
// in words of Go it says in those of JSON. Bodies are read twice, first to be checked; those of workers once.
func OneMeaning(read func(data []byte, v any) error) func(data []byte, v any) error {
	return func(data []byte, v any) error {
		if err := read(data, v); err != nil {
			return api.DecodeError(err)
		}
		if _, checks := v.(*any); checks {
			return api.CheckMembers(data)
		}
		return nil
	}
}
