package main

import (
	"cmp"
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
	"qb/supervisor/job/facts"
)

// What is here makes options and columns of the table facts.Attributes.

// attributeOption is the option of an attribute; it has none if the help is empty.
type attributeOption func(a *facts.Attribute) (name, help string, standard int)

func submitOption(a *facts.Attribute) (name, help string, standard int) {
	return a.Flag(), a.Option, a.Default
}
func changeOption(a *facts.Attribute) (name, help string, standard int) {
	return "m" + cmp.Or(a.Changed, a.Flag()), a.Change, 0
}

// bind makes the option of an attribute.
func (option attributeOption) bind(f *pflag.FlagSet, a *facts.Attribute) {
	name, usage, standard := option(a)
	if usage == "" {
		return
	}
	_, onOff := a.Value(new(facts.JobFacts)).(*bool)
	switch {
	case a.Unlimited:
		f.Var(new(widthValue), name, usage)
	case a.Moment:
		f.Var(new(momentValue), name, usage)
	case a.Seconds:
		f.Var(new(units.Seconds), name, usage)
	case a.Octal:
		f.Var(new(modeValue), name, usage)
	case isNumber(a):
		number := numberValue(standard)
		f.Var(&number, name, usage)
	case onOff:
		f.Bool(name, false, usage)
	default:
		f.String(name, "", usage)
	}
	if a.Composed() {
		commandline.Once(f, name)
	}
}

// give puts the attributes whose options are set into a request. It says whether there are any.
func (option attributeOption) give(f *pflag.FlagSet, request any) (given bool, err error) {
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		if name, usage, _ := option(a); usage != "" && f.Changed(name) {
			if err := giveMember(api.Member(request, cmp.Or(a.In, a.Name)), a, optionValue(f, f.Lookup(name))); err != nil {
				return true, api.Errorf(api.KindUsage, "-%s: %v", name, err)
			}
			given = true
		}
	}
	return given, nil
}

// optionValue is the value of an option that bindAttribute made.
func optionValue(f *pflag.FlagSet, option *pflag.Flag) any {
	if width, ok := option.Value.(*widthValue); ok {
		return int(*width)
	}
	if seconds, ok := option.Value.(*units.Seconds); ok {
		return int(*seconds)
	}
	if mode, ok := option.Value.(*modeValue); ok {
		return int(*mode)
	}
	if n, err := f.GetInt(option.Name); err == nil {
		return n
	}
	if on, err := f.GetBool(option.Name); err == nil {
		return on
	}
	return option.Value.String()
}

func giveMember(member reflect.Value, a *facts.Attribute, value any) error {
	text, _ := value.(string)
	list := []string{} // and not null: a change to none
	if kind := member.Type(); kind == reflect.TypeFor[[]string]() || kind == reflect.TypeFor[*[]string]() {
		entries, err := a.Split(text)
		if err != nil {
			return err
		}
		list = append(list, entries...)
	}
	switch {
	case a.In != "":
		if member.IsNil() {
			member.Set(reflect.ValueOf(map[string]string{}))
		}
		member.SetMapIndex(reflect.ValueOf(a.Name), reflect.ValueOf(text))
	case member.Type() == reflect.TypeFor[[]string]():
		member.Set(reflect.ValueOf(list))
	case member.Type() == reflect.TypeFor[*[]string]():
		member.Set(reflect.ValueOf(&list))
	case member.Kind() == reflect.Pointer:
		member.Set(reflect.New(member.Type().Elem()))
		member.Elem().Set(reflect.ValueOf(value))
	default:
		member.Set(reflect.ValueOf(value).Convert(member.Type()))
	}
	return nil
}

// attributeColumn shows an attribute in a listing, if asked for.
func attributeColumn(name string) output.Column[api.Job] {
	a := facts.AttributeNamed(name)
	c := output.Column[api.Job]{Name: name, Extra: true, Right: isNumber(a)}
	if a.In != "" {
		c.Member = a.In + "." + name
	}
	switch {
	case a.Unlimited:
		c.Number = widthText
	case a.Seconds:
		c.Number = output.Seconds
	case name == "pid":
		c.Number = jobText
	}
	return c
}

// jobText is a job's id, or nothing where there is none.
var jobText = output.Known(output.Formatted("%.0f"))

func isNumber(a *facts.Attribute) bool {
	switch a.Value(new(facts.JobFacts)).(type) {
	case *int, **int, *facts.JobID:
		return true
	}
	return false
}

// always shows a column without being asked for it.
func always(c output.Column[api.Job]) output.Column[api.Job] {
	c.Extra = false
	return c
}

// withAttributes adds columns for the attributes that have none.
func withAttributes(columns []output.Column[api.Job]) []output.Column[api.Job] {
	for _, a := range facts.Attributes {
		if !a.Hidden && !slices.ContainsFunc(columns, func(c output.Column[api.Job]) bool { return c.Name == a.Name }) {
			columns = append(columns, attributeColumn(a.Name))
		}
	}
	return columns
}

// numberValue is the value of an option that is a number, written in decimal as everywhere else: 010 is ten.
type numberValue int

func (n *numberValue) String() string { return strconv.Itoa(int(*n)) }
func (n *numberValue) Type() string   { return "int" }

func (n *numberValue) Set(text string) (err error) {
	*(*int)(n), err = strconv.Atoi(text)
	return err
}

// modeValue is the value of an option that is a mode, in octal.
type modeValue int

func (m *modeValue) String() string { return strconv.FormatInt(int64(*m), 8) }
func (m *modeValue) Type() string   { return "mode" }

func (m *modeValue) Set(text string) error {
	n, err := strconv.ParseUint(text, 8, 9)
	if err != nil {
		return errors.New("is no mode; write one in octal, such as 022")
	}
	*m = modeValue(n)
	return nil
}

// momentValue is the value of an option that names a time, as a request has it.
type momentValue string

func (m *momentValue) String() string { return string(*m) }
func (m *momentValue) Type() string   { return "time" }

// Set reads a time as people write it, in the zone of this machine.
func (m *momentValue) Set(text string) error {
	form, err := units.RequestMoment(text, time.Now())
	if err == nil && form != "" && form[0] != '+' {
		err = checkZone(text)
	}
	if err == nil {
		*m = momentValue(form)
	}
	return err
}

// checkZone refuses a time in an unknown zone of TZ, for which the runtime takes UTC.
func checkZone(text string) error {
	name := strings.TrimPrefix(os.Getenv("TZ"), ":")
	if name != "" && name != "UTC" && time.Local.String() == "UTC" {
		return api.Errorf(api.KindUsage,
			"%s needs a zone, and TZ=%s names none that this machine knows; set TZ to one such as Europe/Berlin",
			units.Quoted(text), output.Escape(name))
	}
	return nil
}

// percentText is per cent, or nothing where none is known.
var percentText = output.Known(output.Formatted("%.0f%%"))
