package api

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestItemVariables: the document and the Python client have the table as it is.
func TestItemVariables(t *testing.T) {
	var rows, names strings.Builder
	rows.WriteString("| variable | value |\n| --- | --- |\n")
	for _, v := range ItemVariables {
		fmt.Fprintf(&rows, "| `%s` | %s |\n", v.Name, v.Doc)
		fmt.Fprintf(&names, "    %q,\n", v.Name)
	}
	for _, made := range []struct{ file, from, to, text string }{
		{"../docs/item-variables.md", "-update -->\n\n", "\x00", rows.String()},
		{"../python/qb.py", "_ITEM_VARIABLES = frozenset((\n", "))\n", names.String()},
	} {
		data, err := os.ReadFile(made.file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(data), made.from)
		if !found {
			t.Fatalf("%s has no %q", made.file, made.from)
		}
		_, after, _ := strings.Cut(rest, made.to)
		if after != "" {
			after = made.to + after
		}
		want := before + made.from + made.text + after
		if *updateEvents {
			if err := os.WriteFile(made.file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want != string(data) {
			t.Errorf("%s is not what the table says; go test ./api -run TestItemVariables -update writes it anew", made.file)
		}
	}
}
