package output

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// Result is what a command did to one job, some of its items, or a host.
type Result struct {
	Job       int64  `json:"job,omitempty"`
	Items     string `json:"items,omitempty"` // of the job, as the command names them
	Instances string `json:"instances,omitempty"`
	Host      string `json:"host,omitempty"`
	Action    string `json:"action"`
	Affected  int    `json:"affected"`
}

// Results prints what a command did: a line for each thing as it happens, or a list for programs at the end.
type Results struct {
	list    ListOptions
	results []Result
}

// Bind declares the options of the list.
func (r *Results) Bind(flags *pflag.FlagSet) {
	flags.BoolVar(&r.list.JSON, "json", false, "print what was done as a JSON array of objects")
	flags.BoolVar(&r.list.XML, "xml", false,
		"print what was done as XML: a list of objects with the members of -json as elements")
}

// List has these options.
func (r *Results) List() ListOptions { return r.list }

// Check refuses options that exclude each other, before anything is done.
func (r *Results) Check() error { return r.list.check() }

// Add takes in a result, which line says to people.
func (r *Results) Add(out io.Writer, result Result, line string) error {
	if r.list.Whole() {
		r.results = append(r.results, result)
		return nil
	}
	_, err := fmt.Fprintln(out, line)
	return err
}

// Flush prints the list, also if the command ends with an error: what was done until then stays done.
func (r *Results) Flush(out io.Writer, failed error) error {
	if !r.list.Whole() || len(r.results) == 0 && failed != nil {
		return failed
	}
	if err := Print(PartialOutput{out}, "", r.list, []Column[Result]{{Name: "job"}}, Rows(r.results)); failed == nil {
		return err
	}
	return failed
}
