package output

import (
	"strings"

	"qb/supervisor/job/facts"
)

// NameList is a list of names with commas as an option.
type NameList []string

func (n *NameList) String() string { return strings.Join(*n, ",") }
func (n *NameList) Type() string   { return "names" }

// Set takes the place of what was set before.
func (n *NameList) Set(text string) error {
	*n = append([]string{}, facts.SplitList(text)...) // never null
	return nil
}
