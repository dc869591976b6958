package api

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updateEvents = flag.Bool("update", false, "write the table in docs/events.md anew")

// TestEventsAreDocumented: docs/events.md has the table of all types.
func TestEventsAreDocumented(t *testing.T) {
	const page, begin = "../docs/events.md", "| type | name in the stream | members | in | meaning |\n"
	table := begin + "| --- | --- | --- | --- | --- |\n"
	for _, k := range EventKinds {
		table += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", k.Type, k.Topic, k.Members, k.In, k.Text)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(data), begin)
	if *updateEvents {
		if err := os.WriteFile(page, []byte(head+table), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(data) != head+table {
		t.Errorf("%s does not have the table of EventKinds; go test ./api -run TestEventsAreDocumented -update writes it", page)
	}
}
