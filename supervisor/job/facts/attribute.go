package facts

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Attribute is a property that a user gives a job. It is declared once, in Attributes. Everything between the user and
// the farm is made from that table: the options of qbsub and qbmodify, the columns of qbjobs, the checks of a request,
// its way to the job and back to a listing, changes and their history.
type Attribute struct {
	// its member in JSON, its option (-NAME of qbsub, -mNAME of qbmodify) and its column in qbjobs
	Name   string
	Effect Effect // what giving a job another value of it comes to, and so which right that needs
	// points to the value: a *string, *int, **int, *JobID, *bool, *[]string, *map[string]string or *agenda.Order
	Value func(*JobFacts) any

	Spelled string            // its option, if that is not NAME
	Words   map[string]string // the options of qbsub that stand for its values, instead of one with a value
	Changed string            // its option of qbmodify without the m, if that is another than qbsub's
	In      string            // the member in JSON whose entry NAME it is; empty: it is a member itself
	Option  string            // help of -NAME; empty: qbsub has no such option, or one of its own
	Change  string            // help of -mNAME; empty: the attribute cannot be changed after the submission
	Hidden  bool              // it is not shown in a listing
	Private bool              // a history, which everybody reads, says that it changed and not to what
	OfHosts bool              // it restricts the hosts that the job may run on

	Default     int  // of a number, as the help shows it
	Least, Most int  // of a number; both 0: any
	Unlimited   bool // any negative number means that there is no limit; see NoLimit
	Seconds     bool // the number is a duration
	Octal       bool // people write the number in octal
	Moment      bool // the text is a time; see units.RequestMoment

	Runes   int                     // length of a text at most; 0: see Bytes
	Bytes   int                     // the same in bytes; 0: MaxText
	Trim    bool                    // white space around the text is dropped
	Entries Entries                 // of a text or list
	Parts   bool                    // the text is a list or condition in a language of its own
	Form    func([]string) []string // how a list is stored that may be written in several ways
	Check   func(text string) error
	List    func(entries []string) error // checks a list
}

// Effect is what a change of an attribute comes to.
type Effect int

// An attribute decides what runs if its value reaches what a host runs, watches or reads as the job's owner: the
// command and all that is run beside it, its environment, folder and paths, the names of items that are put into these,
// and expressions for output. Who may change the job otherwise offers it more or less: when, where, how wide, how
// often, for which reports.
const (
	Unmarked Effect = iota // not stated; it needs the right of Decides
	Offers                 // the right to change the job
	Permits                // decides what other users may do with the job
	Decides                // decides what runs as the job's owner
)

// Entries bounds the number of entries of a list.
type Entries struct {
	Separator string // of its text; empty: the number is not bounded
	Most      int
	Remedy    string // what to do if there are more
	Quotes    Quotes // if any, entries may have separators, and a list that is given as one stays as it is
}

// What an attribute can be at most.
const (
	MaxText       = 64 << 10 // bytes of a text that has no limit of its own
	MaxName       = 255      // characters
	MaxTag        = 64       // characters
	MaxNotes      = 4096     // bytes: every listing has them
	MaxPath       = 4096     // bytes
	MaxRange      = 1 << 20  // bytes
	MaxPriority   = 1_000_000
	MaxCPUs       = 100_000
	MaxRetryWork  = 1000
	MaxTimeLimit  = 1 << 31       // seconds
	MaxFlights    = 8             // commands in one list
	MaxRetryDelay = 7 * 24 * 3600 // seconds
	MaxJobID      = 1<<53 - 1     // what JSON keeps exactly
	MaxNamed      = 1000          // hosts or groups in one list: each plan asks each host for them
	MaxPatterns   = 100           // of clusters, the same
	MaxOrdered    = 16            // properties in a host order, the same
)

// AttributeNamed is the attribute of that name. There must be one.
func AttributeNamed(name string) *Attribute {
	for i := range Attributes {
		if Attributes[i].Name == name {
			return &Attributes[i]
		}
	}
	panic("no attribute of a job is named " + name)
}

// Set gives the attribute of j a value: of the type that Value points to, or of a type that is stored in it, as an int
// in a *int.
func (a *Attribute) Set(j *JobFacts, value any) {
	to := reflect.ValueOf(a.Value(j)).Elem()
	if to.Kind() == reflect.Pointer { // a number that may be missing
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	to.Set(reflect.ValueOf(value).Convert(to.Type()))
}

// Get is the attribute's value in j; nil for a number that is not given.
func (a *Attribute) Get(j *JobFacts) any {
	value := reflect.ValueOf(a.Value(j)).Elem()
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return nil
		}
		value = value.Elem()
	}
	return value.Interface()
}

// Flag is the name of the attribute's option of qbsub; that of qbmodify has an m before it.
func (a *Attribute) Flag() string { return cmp.Or(a.Spelled, a.Name) }

// Composed says whether a value consists of parts, as lists and conditions do.
func (a *Attribute) Composed() bool {
	_, list := a.Value(new(JobFacts)).(*[]string)
	return list || a.Entries.Separator != "" || a.Parts
}

// Stored is a value of a request as a job holds it.
func (a *Attribute) Stored(value any) any {
	switch v := value.(type) {
	case []string:
		if a.Form != nil {
			return a.Form(v)
		}
		switch a.Entries.Quotes {
		case AroundQuotes: // blanks within quotes are of a path
			return slices.DeleteFunc(slices.Clone(v), func(entry string) bool { return strings.TrimSpace(entry) == "" })
		case ShellQuotes:
			return trimmed(v)
		}
		if a.Entries.Separator != "" {
			return SplitList(strings.Join(v, a.Entries.Separator))
		}
	case string:
		if a.Trim {
			return strings.TrimSpace(v)
		}
	}
	return value
}

// SplitList splits a list at its commas and drops white space and empty entries.
func SplitList(text string) (entries []string) {
	return trimmed(strings.Split(text, ","))
}

func trimmed(list []string) (entries []string) {
	for _, entry := range list {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// JobChange is new values for some attributes of a job.
type JobChange struct {
	Given  []string // names of the attributes
	Values JobFacts // has their values; the rest of it means nothing
}

// Set adds an attribute to the change; the value is as Attribute.Set takes it.
func (c *JobChange) Set(name string, value any) {
	AttributeNamed(name).Set(&c.Values, value)
	if !slices.Contains(c.Given, name) {
		c.Given = append(c.Given, name)
	}
}

// Has says whether the change gives one of the attributes.
func (c *JobChange) Has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains(c.Given,
			AttributeNamed(name).Name)
	})
}

// OfHosts says whether the change gives an attribute that restricts the hosts of the job.
func (c *JobChange) OfHosts() bool {
	return slices.ContainsFunc(c.Given, func(name string) bool { return AttributeNamed(name).OfHosts })
}

// On is the job with the change made.
func (c *JobChange) On(j JobFacts) JobFacts {
	for _, name := range c.Given {
		a := AttributeNamed(name)
		reflect.ValueOf(a.Value(&j)).Elem().Set(reflect.ValueOf(a.Value(&c.Values)).Elem())
	}
	return j
}

// String is the change as a job's history shows it, such as "cpus = 4, name = beauty".
func (c *JobChange) String() string {
	text := ""
	for _, name := range slices.Sorted(slices.Values(c.Given)) {
		if text != "" {
			text += ", "
		}
		if a := AttributeNamed(name); a.Private {
			text += name + " changed"
		} else {
			text += fmt.Sprintf("%s = %v", name, a.Get(&c.Values))
		}
	}
	return text
}

// bytes is about what the texts of the attribute take, in memory and in its row.
func (a *Attribute) bytes(j *JobFacts) (n int) {
	switch v := a.Value(j).(type) {
	case *string:
		n = len(*v)
	case *[]string:
		for _, s := range *v {
			n += len(s) + 16
		}
	case *map[string]string:
		for name, value := range *v {
			n += len(name) + len(value) + 32
		}
	}
	return n
}

// TextLimit is the most that a text may have: characters if Runes is set, else bytes.
func (a *Attribute) TextLimit() int { return cmp.Or(a.Runes, a.Bytes, MaxText) }
