package facts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Qube's numbers stand for its flags; each flag is stored once, by name.
func TestFlagNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"1": {FlagUninterruptible}, "12": {"grid", "auto_mount"}, "256": {FlagHostList}, "65536": {FlagMigrate}, "524288": {FlagNoDefaults}, "0": nil,
	} {
		if names, ok := FlagsOf(text); !ok || !slices.Equal(names, want) {
			t.Errorf("%s: %v, %v", text, names, ok)
		}
	}
	for _, text := range []string{"-1", "1048576", "elite", "", "1.5"} {
		if names, ok := FlagsOf(text); ok {
			t.Errorf("%q: %v", text, names)
		}
	}
	if all, _ := FlagsOf("1048575"); len(all) != len(Flags)+len(PassedOver) {
		t.Errorf("%d of %d flags have a number", len(all), len(Flags)+len(PassedOver))
	}
	if got := flagNames([]string{"elite", "513"}); !slices.Equal(got, []string{FlagElite, FlagUninterruptible}) {
		t.Errorf("%v", got)
	}
}

// TestFlagsInDocument: docs/operations.md has each flag with its number, and says of those without an effect that they have none.
func TestFlagsInDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for bit, name := range flagBits {
		_, row, found := strings.Cut(string(text), fmt.Sprintf("\n| `%s` | %d | ", name, 1<<bit))
		if none := strings.HasPrefix(row, "none: "); !found || none == slices.Contains(Flags, name) {
			t.Errorf("%s: has a row: %v, has no effect by it: %v", name, found, none)
		}
	}
}
