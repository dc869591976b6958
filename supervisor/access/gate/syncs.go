package gate

import (
	"github.com/go-json-experiment/json"

	"qb/api"
)

// FastSyncs reads syncs of workers, which are most of what a supervisor reads, with the faster JSON reader: it needs
// half the time. It accepts less than read does, which has the last word on all else, and so has one meaning and one
// wording of errors.
func FastSyncs(read func(data []byte, v any) error) func(data []byte, v any) error {
	return func(data []byte, v any) error {
		s, is := v.(*api.Sync)
		if !is {
			return read(data, v)
		}
		if json.Unmarshal(data, s, json.MatchCaseInsensitiveNames(true)) == nil {
			return nil
		}
		*s = api.Sync{}
		return read(data, v)
	}
}
