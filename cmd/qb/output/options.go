package output

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"qb/api"
)

// ListOptions are the options that every listing has; long is of some.
type ListOptions struct {
	JSON, XML, noHeaders, long, reverse bool
	fields, sortBy, delimit             string
	Others                              map[string]string // columns by names that other programs have for them
}

// Bind gives a command the options of every listing.
func (o *ListOptions) Bind(flags *pflag.FlagSet) {
	flags.BoolVar(&o.JSON, "json", false, "print a JSON array of objects")
	flags.BoolVar(&o.XML, "xml", false, "print XML: a list of objects with the members of -json as elements")
	flags.StringVar(&o.delimit, "delimit", "", "print lines with the character `C` between fields, as ';'; in a text it becomes an escape sequence")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print no heading")
	flags.StringVar(&o.fields, "fields", "", "print only the columns (with -json and -xml: the members) `a,b`")
	flags.StringVar(&o.sortBy, "sortby", "", "sort by the column `FIELD`, numbers by value; what is empty comes first")
	flags.BoolVar(&o.reverse, "reverse", false, "print in the opposite order")
}

// BindLong is Bind for a listing of things with many fields.
func (o *ListOptions) BindLong(flags *pflag.FlagSet) {
	o.Bind(flags)
	flags.BoolVar(&o.long, "long", false, "print a block per entry, with all fields that are set")
}

// ForPeople says whether rows are printed as a table with headings or as blocks, and not for a program.
func (o *ListOptions) ForPeople() bool {
	return !o.Whole() && o.delimit == "" && !o.noHeaders && o.fields == ""
}

// Whole says whether rows are printed with all their members, as JSON or XML, and not by columns.
func (o *ListOptions) Whole() bool { return o.JSON || o.XML }

// Ordered says whether rows are printed in another order than that of the listing.
func (o *ListOptions) Ordered() bool { return o.sortBy != "" || o.reverse }

// form is a form of a listing, by its option.
type form struct {
	option string
	given  bool
}

// Exclusive refuses the option of a further form if one of a listing's forms is asked for too.
func (o *ListOptions) Exclusive(option string, given bool) error {
	var first string
	for _, f := range []form{{option, given}, {"-long", o.long}, {"-json", o.JSON}, {"-xml", o.XML},
		{"-delimit", o.delimit != ""}} {
		switch {
		case f.given && first != "":
			return api.Errorf(api.KindUsage, "%s and %s exclude each other; give one", first, f.option)
		case f.given:
			first = f.option
		}
	}
	return nil
}

func (o *ListOptions) check() error {
	r, size := utf8.DecodeRuneInString(o.delimit)
	plain := unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(`\`, r) || unprintable(r) && r != '\t'
	if o.delimit != "" && (size != len(o.delimit) || plain) {
		return api.Errorf(api.KindUsage,
			"-delimit %q: give one character, such as ';' or a tab, and no letter, digit or backslash", o.delimit)
	}
	return o.Exclusive("", false)
}
