package output

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
)

// CSV writes rows as CSV: the members of the JSON form under the names of the columns, so that both have the same
// figures.
func (l *Lister[T]) CSV(rows []T) error {
	w := csv.NewWriter(l.out)
	names := Names(l.columns)
	if !l.options.noHeaders {
		_ = w.Write(names) // Error returns a failed write
	}
	for _, row := range l.ordered(rows) {
		data, err := EncodeJSON(row)
		if err != nil {
			return err
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
		if tags := members["tags"]; tags != nil { // each has a column of its own
			if err := json.Unmarshal(tags, &members); err != nil {
				return fmt.Errorf("writing CSV: %w", err)
			}
		}
		cells := make([]string, len(names))
		for i, name := range names {
			value := string(members[name])
			var text string
			if json.Unmarshal(members[name], &text) == nil {
				value = Escape(text)
			}
			cells[i] = value
		}
		_ = w.Write(cells)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return l.out.Flush()
}
