package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
	"qb/supervisor/wire/settings"
	workersettings "qb/worker/settings"
)

// SupervisorKeys and WorkerKeys are two of the three parts of qb.conf. They are embedded under names of their own, as
// the types share one.
type (
	SupervisorKeys = settings.Config
	WorkerKeys     = workersettings.Config
)

// Keys is the whole of qb.conf: flat keys, those of the supervisor, of workers and of clients.
type Keys struct {
	SupervisorKeys
	WorkerKeys
	clientKeys
}

// clientKeys are for the commands that talk to a supervisor.
type clientKeys struct {
	ClientSupervisor string `toml:"client_supervisor" doc:"URL or unix:PATH of the supervisor for commands. Of several, separated by commas, the leader is used. Empty: the one in farm.json of the default state folder."`
	ClientTokenFile  string `toml:"client_token_file" doc:"File with the token for client_supervisor, used if neither QB_TOKEN nor QB_TOKEN_FILE is set. Empty: the farm's token, if readable."`

	ClientPriority     int    `toml:"client_priority" doc:"Priority of jobs that qbsub submits from here without -priority. 0: supervisor_default_priority."`
	ClientCluster      string `toml:"client_cluster" doc:"Cluster of jobs that qbsub submits from here without -cluster. Empty: supervisor_default_cluster."`
	ClientAccount      string `toml:"client_account" doc:"Account of jobs that qbsub submits from here without -account. Empty: none."`
	ClientRestrictions string `toml:"client_restrictions" doc:"Restrictions of jobs that qbsub submits from here without -restrictions. Empty: none."`
	ClientJobFlags     string `toml:"client_job_flags" doc:"Flags that jobs which qbsub submits from here get besides those of -flags, separated by commas; not those with the flag no_defaults."`

	ClientTrustedUsers []string `toml:"client_trusted_users" doc:"Accounts that may answer as the supervisor on this machine, or as a proxy to it, besides root, your own, and the owner of /run/qb or /var/lib/qb. Commands and workers send nothing to other accounts."`
}

func defaultKeys() Keys {
	return Keys{
		SupervisorKeys: settings.DefaultConfig(), WorkerKeys: workersettings.DefaultConfig(),
		clientKeys: clientKeys{ClientTrustedUsers: []string{}},
	}
}

// setting is one key of qb.conf in a config.
type setting struct {
	key, doc string
	group    int // whose it is
	secret   bool
	value    reflect.Value
}

func (c *Keys) settings() []setting {
	var all []setting
	for group, part := range []any{&c.SupervisorKeys, &c.WorkerKeys, &c.clientKeys} {
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			if key := tag.Get("toml"); key != "" && key != "-" {
				all = append(all, setting{key: key, group: group, doc: tag.Get("doc"), secret: tag.Get("secret") == "true",
					value: v.Field(i)})
			}
		}
	}
	return all
}

// Config is the configuration in force, with where each of its values came from.
type Config struct {
	Keys
	Named   bool              // the file was named by -conf or QB_CONF
	File    string            // the last that was read; "" if there was none
	Origins map[string]string // key → "qb.conf:3", "QB_DATABASE_URL", "option -listen"; absent: default
	lines   map[string]int    // key → line of file
	notes   []string          // what changed in meaning, or has no effect, in files of Qube's form
}

// Source says which files to read, and where warnings go.
type Source struct {
	File    string    // the option -conf; "": QB_CONF, else those of the machine, the user and the current folder
	Program string    // for warnings
	Warn    io.Writer // for warnings about files and settings that are ignored
	Client  bool      // for a command that asks a supervisor: it needs nothing that the current folder's file may set
}

// Load reads the configuration that is in force: defaults, then the files, then the environment.
// Options come last and are the caller's to set.
func Load(from Source) (*Config, error) {
	c := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
	if err := c.readFiles(from); err != nil {
		return nil, err
	}
	if err := c.readEnvironment(os.LookupEnv); err != nil {
		return nil, err
	}
	c.warnOfUnknown(from, os.Environ())
	if len(c.notes) > 0 && !from.Client {
		fmt.Fprintf(from.Warn, "%s: %s is in Qube!'s form; of its settings %d mean something else in qb or have no effect: qb config check %s lists them\n",
			from.Program, output.Escape(c.File), len(c.notes), output.Escape(c.File))
	}
	if !from.Client {
		for _, one := range c.widthWarnings() {
			fmt.Fprintf(from.Warn, "%s: %s\n", from.Program, one.text)
		}
	}
	return c, nil
}

// warnOfUnknown warns of variables that are named like settings and set none.
func (c *Config) warnOfUnknown(from Source, environ []string) {
	var names []string
	for _, key := range keysOf(c.settings()) {
		names = append(names, variableOf(key))
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		part, rest, _ := strings.Cut(strings.TrimPrefix(name, "QB_"), "_")
		like := strings.HasPrefix(name, "QB_") && rest != "" &&
			slices.Contains([]string{"SUPERVISOR", "WORKER", "CLIENT", "DATABASE", "MAIL"}, part)
		if like && !slices.Contains(names, name) {
			fmt.Fprintf(from.Warn, "%s: ignoring %s: it is no setting%s\n", from.Program, output.Escape(name),
				output.DidYouMean("", name, names))
		}
	}
}

// variableOf is the environment's variable for a key.
func variableOf(key string) string { return "QB_" + strings.ToUpper(key) }

// parse takes a file's text. What it refuses, it refuses with file, line and key.
func (c *Config) parse(name, text string) error {
	bad, err := c.take(name, text)
	if err != nil {
		return err
	}
	return bad.error()
}

// take takes the settings of a file's text that can be taken, and tells the others.
func (c *Config) take(name, text string) (bad problems, err error) {
	if lines, ok := inQubesForm(text); ok {
		t := fromQube(name, lines, c.settings())
		text, bad = t.text, t.problems
		for _, n := range t.notes {
			c.notes = append(c.notes, fmt.Sprintf("%s:%d: %s", name, n.line, n.text))
		}
	}
	var values map[string]toml.Primitive
	meta, err := toml.Decode(text, &values)
	if err != nil {
		return nil, syntaxError(name, text, err)
	}
	c.File, c.lines = name, map[string]int{}
	all, written := c.settings(), keyLines(text)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		line := written[key]
		n := slices.IndexFunc(all, func(s setting) bool { return strings.EqualFold(s.key, key) })
		if n < 0 {
			what := cmp.Or(output.DidYouMean("", key, keysOf(all)), "; `qb config example` lists all")
			bad = append(bad, problem{line, fmt.Sprintf("%s:%d: unknown key %q%s", name, line, key, what)})
		} else if err := all[n].decode(&meta, values[key]); err != nil {
			bad = append(bad, problem{line, fmt.Sprintf("%s:%d: key %q: %s", name, line, key, output.Escape(err.Error()))})
		} else {
			c.Origins[all[n].key], c.lines[all[n].key] = fmt.Sprintf("%s:%d", name, line), line
		}
	}
	return bad, nil
}

func keysOf(all []setting) (keys []string) {
	for _, s := range all {
		keys = append(keys, s.key)
	}
	return keys
}

// syntaxError says where a text is not TOML.
func syntaxError(name, text string, err error) error {
	var syntax toml.ParseError
	if !errors.As(err, &syntax) {
		return api.Errorf(api.KindInvalid, "%s: %s", name, output.Escape(err.Error()))
	}
	if line := unquoted(text, syntax.Position.Line); line != "" {
		return api.Errorf(api.KindInvalid, "%s:%d: a text needs quotes: %s", name, syntax.Position.Line, output.Escape(line))
	}
	what := output.Escape(syntax.Message)
	if syntax.LastKey != "" {
		what = fmt.Sprintf("key %q: %s", syntax.LastKey, what)
	}
	return api.Errorf(api.KindInvalid, "%s:%d: %s", name, syntax.Position.Line, what)
}

// decode sets a setting to a value of TOML.
func (s setting) decode(meta *toml.MetaData, value toml.Primitive) error {
	into := s.value.Addr().Interface()
	err := meta.PrimitiveDecode(value, into)
	if err == nil {
		return nil
	}
	var given any
	if err := meta.PrimitiveDecode(value, &given); err != nil {
		return err
	}
	switch given.(type) {
	case string, int64, float64, bool:
		if own, ok := into.(encoding.TextUnmarshaler); ok {
			return own.UnmarshalText([]byte(fmt.Sprint(given)))
		}
	}
	if text, ok := given.(string); ok {
		given = strconv.Quote(text)
	}
	return fmt.Errorf("%v is not %s", given, wantedValue(s.value.Type()))
}

// wantedValue describes the values of TOML that a type takes.
func wantedValue(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a text in quotes"
	}
	switch t.Kind() {
	case reflect.String:
		return `a text such as "a"`
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return `a list such as ["a", "b"]`
	case reflect.Map:
		return "a table such as {a = 1}"
	}
	return "a whole number"
}

// keyLines finds the line of each key and table of the first level.
func keyLines(text string) map[string]int {
	lines := map[string]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		key, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		key = strings.Trim(strings.TrimSpace(key), `[]"'`)
		key, _, _ = strings.Cut(key, ".")
		if _, seen := lines[key]; !seen && key != "" && key[0] != '#' {
			lines[key] = number
		}
	}
	return lines
}

// readEnvironment lets QB_<KEY IN UPPER CASE> override the file.
func (c *Config) readEnvironment(lookup func(string) (string, bool)) error {
	for _, s := range c.settings() {
		name := variableOf(s.key)
		text, ok := lookup(name)
		if !ok || (text == "" && s.value.Kind() != reflect.String) {
			continue
		}
		if !utf8.ValidString(text) {
			return api.Errorf(api.KindInvalid, "environment %s=%q is not UTF-8; write it in UTF-8", name, text)
		}
		value := tomlText(s.value, text)
		if strings.ContainsAny(value, "\r\n") {
			return api.Errorf(api.KindInvalid, "environment %s=%q: a line break cannot be part of it", name, text)
		}
		var values map[string]toml.Primitive
		meta, err := toml.Decode(s.key+" = "+value, &values)
		if err == nil {
			err = s.decode(&meta, values[s.key])
		}
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			err = errors.New(syntax.Message)
		}
		if err != nil {
			return api.Errorf(api.KindInvalid, "environment %s=%q: %s", name, text, output.Escape(err.Error()))
		}
		c.Origins[s.key] = name
	}
	return nil
}

// tomlText writes a variable's text as the TOML value that its field wants.
func tomlText(field reflect.Value, text string) string {
	_, isText := field.Addr().Interface().(interface{ UnmarshalText([]byte) error })
	switch {
	case isText || field.Kind() == reflect.String:
		return tomlString(text)
	case field.Kind() == reflect.Slice && !strings.HasPrefix(strings.TrimSpace(text), "["):
		var quoted []string
		for _, word := range facts.SplitList(text) {
			quoted = append(quoted, tomlString(word))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return text
}

func tomlString(s string) string { return tomlValue(reflect.ValueOf(s)) }

// Validate says what of the supervisor's and the workers' keys cannot be. Commands that only talk to a
// supervisor do not ask: the file may be a host's that they share.
func (c *Config) Validate() error { return c.WithOrigin(c.invalid()) }

func (c *Config) invalid() error {
	workers := c.WorkerKeys
	if workers.State == "" {
		workers.State = "/" // its default is known only to the worker that starts
	}
	if len(workers.Supervisor) == 0 {
		workers.Supervisor = []string{"http://localhost"}
	}
	return errors.Join(c.SupervisorKeys.Validate(), c.halfLifeTwice(), workers.Validate())
}

// CheckFile says what is wrong with a file's settings: all of it, in the order of the file. Notes on a file in Qube's
// form go to out, and so do warnings of settings that work against each other: these refuse nothing.
func CheckFile(name string, out io.Writer) error {
	c := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
	text, err := readNamed(name)
	if err != nil {
		return err
	}
	bad, err := c.take(name, text)
	if err != nil {
		return err
	}
	for _, one := range c.notes {
		fmt.Fprintln(out, output.Escape(one))
	}
	if bad = append(bad, c.refused(c.invalid())...); len(bad) > 0 {
		return bad.error()
	}
	for _, one := range c.warnings() {
		fmt.Fprintln(out, one.text)
	}
	return nil
}

// halfLifeTwice refuses a half-life that is written beside factor and period although it is the default: that it was
// written is known only here.
func (c *Config) halfLifeTwice() error {
	const key = "supervisor_fairshare_half_life"
	byFactor := c.DecayFactor != 0 || c.DecayPeriod != 0
	if !byFactor || c.Origins[key] == "" || c.FairshareHalf != settings.DefaultConfig().FairshareHalf {
		return nil
	}
	return api.BadSetting(key,
		" = %s: supervisor_fairshare_decay_factor = %v sets another half-life; remove one of the two", c.FairshareHalf,
		c.DecayFactor)
}

// WithOrigin adds to each refused setting where its value was given.
func (c *Config) WithOrigin(err error) error {
	if err == nil {
		return nil
	}
	return c.refused(err).error()
}

func (c *Config) refused(err error) (bad problems) {
	if err == nil {
		return nil
	}
	for _, one := range joined(err) {
		text, line := one.Error(), math.MaxInt
		var setting *api.SettingError
		if errors.As(one, &setting) && c.Origins[setting.Key] != "" {
			text, line = c.Origins[setting.Key]+": "+text, c.lines[setting.Key]
		}
		bad = append(bad, problem{line, text})
	}
	return bad
}

// problem is why a setting is refused.
type problem struct {
	line int // of the file
	text string
}

type problems []problem

// problemsShown bounds how many problems one error lists.
const problemsShown = 20

// error lists the problems in the order of the file; nil if there are none.
func (p problems) error() error {
	if len(p) == 0 {
		return nil
	}
	p.sort()
	var lines []string
	if len(p) > 1 { // the caller puts the program's name before its first line
		lines = append(lines, fmt.Sprintf("%d settings are refused:", len(p)))
	}
	for _, one := range p[:min(len(p), problemsShown)] {
		lines = append(lines, one.text)
	}
	if more := len(p) - problemsShown; more > 0 {
		lines = append(lines, fmt.Sprintf("(and %d more)", more))
	}
	return api.Errorf(api.KindInvalid, "%s", strings.Join(lines, "\n"))
}

// sort puts them into the order of the file.
func (p problems) sort() {
	slices.SortStableFunc(p, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
}

// joined are the errors that errors.Join put together.
func joined(err error) []error {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range list.Unwrap() {
		all = append(all, joined(one)...)
	}
	return all
}
