package agenda

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestArithmetic(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		holds           bool
	}{
		{"host.processors.total sub host.processors.used = 16", "host.processors.total sub host.processors.used = 16", true},
		{"host.processors.total ADD 1 mul 2 = 18", "host.processors.total add 1 mul 2 = 18", true},
		{"(host.processors.total add 1) mul 2 = 34", "(host.processors.total add 1) mul 2 = 34", true},
		{"((host.processors.total add 1) = 17)", "host.processors.total add 1 = 17", true},
		{"host.processors.total sub (1 sub 1) = 16", "host.processors.total sub (1 sub 1) = 16", true},
		{"(host.processors.total sub 1) sub 1 = 14", "host.processors.total sub 1 sub 1 = 14", true},
		{"(host.processors.total) = 16", "host.processors.total = 16", true},
		{"not (host.processors.total) = 16", "not host.processors.total = 16", false},
		{"15 = host.processors.total sub 1", "15 = host.processors.total sub 1", true},
		{"job.id min 5 = 5 and job.id max 5 = 9", "job.id min 5 = 5 and job.id max 5 = 9", true},
		{"8 min job.id mul 2 = 8", "8 min job.id mul 2 = 8", true},
		{"job.id div 2 = 4.5 and job.id mod 4 = 1", "job.id div 2 = 4.5 and job.id mod 4 = 1", true},
		{"job.id&1=1", "job.id & 1 = 1", true},
		{"job.id|6=15 && job.id xor 1 = 8", "job.id | 6 = 15 and job.id xor 1 = 8", true},
		{"job.id<<1=18 and job.id>>1=4", "job.id << 1 = 18 and job.id >> 1 = 4", true},
		{"job.id sub 2 in host.duty.id", "job.id sub 2 in host.duty.id", true},
		{"job.id mul 2 in 1,18", "job.id mul 2 in 1,18", true},
		{"host.memory sub host.memory.avail > 14000", "host.memory sub host.memory.avail > 14000MiB", true},
		{"host.memory.avail add 2000 = 4000", "host.memory.avail add 2000MiB = 4000MiB", true},
		{"2000 add 1GB < host.memory", "2000MiB add 1GiB < host.memory", true},
		{"host.memory div host.processors.total = 1GiB", "host.memory div host.processors.total = 1GiB", true},
		{"host.memory div 4GB = 4", "host.memory div 4GiB = 4", true},
		{"host.memory >= host.processors.total mul 1GB", "host.memory >= host.processors.total mul 1GiB", true},
		{"host.memory >= 1000 mul host.processors.total", "host.memory >= 1000 mul host.processors.total", true}, // in MB, as in Qube
		{"1100 mul host.processors.total < host.memory", "1100 mul host.processors.total < host.memory", false},
		{"host.maya_version add 1 > 0", "host.maya_version add 1 > 0", false}, // not set
		{"host.maya_version add 1 != 0", "host.maya_version add 1 != 0", false},
		{"host.os add 1 != 0", "host.os add 1 != 0", false}, // no number
		{"job.id div host.processors.used != 1", "job.id div host.processors.used != 1", false},
		{"job.id mod 0 != 1", "job.id mod 0 != 1", false},
		{"job.id div 2 & 1 != 1", "job.id div 2 & 1 != 1", false}, // no whole number
		{"job.id << 54 != 1", "job.id << 54 != 1", false},
		{"job.id << -1 != 1", "job.id << -1 != 1", false},
		{"job.id << 50 != 1", "job.id << 50 != 1", false}, // passes 2^53
		{"job.id << 49 > 1", "job.id << 49 > 1", true},
		{"job.id mul 9007199254740992 != 1", "job.id mul 9007199254740992 != 1", false},
		{"host.os = \"xor\"", "host.os = \"xor\"", false},
	} {
		r, err := ParseRequirement(c.text, testProperties)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := r.String(); got != c.canonical {
			t.Errorf("%s: canonical %s, want %s", c.text, got, c.canonical)
		}
		if got := r.Holds(aHost(nil)); got != c.holds {
			t.Errorf("%s: holds %v, want %v", c.text, got, c.holds)
		}
		checkRequirement(t, r)
	}
}

func TestArithmeticRefused(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"host.processors.used add = 2", 26, `a value after add is missing before "="`},
		{"host.processors.used add", 25, "a value after add is missing at the end"},
		{"add 1 = job.id", 1, "is missing before"},
		{"(job.id add 1 = 2", 1, "this parenthesis is never closed"},
		{"job.id = (1 add 2", 10, "this parenthesis is never closed"},
		{"job.id = (1 add 2 and host.flag.gpu)", 19, "close the parenthesis"},
		{"job.id add 1", 1, `"job.id add 1" is not true or false`},
		{"job.id add lots = 2", 12, `"lots" is neither a number nor a size, and add needs one`},
		{"job.id add host.oss = 2", 12, `there is no property "host.oss"`},
		{"1 add 2 = 3", 1, `"1 add 2" and "3" are both values; compare a property with a value`},
		{"job.id add 1GB > 1", 8, "add cannot join a number and a size"},
		{"host.memory mul 1GB > 1", 13, "mul cannot join a size and a size"},
		{"job.id div 1GB > 1", 8, "div cannot join a number and a size"},
		{"host.memory & 1 > 1", 13, "& computes with the bits of whole numbers, and host.memory is a size; to join conditions, write and"},
		{"host.memory>>3", 12, ">> computes with the bits of whole numbers, and host.memory is a size; to compare, write > or >="},
		{"host.groups add 1 = 2", 1, "host.groups is a list; add needs numbers or sizes"},
		{"host.flag.gpu xor host.flag.remote", 1, "host.flag.gpu is true or false; xor needs numbers or sizes"},
		{"host.groups has host.memory add 1", 17, "cannot be looked for in a list"},
		{"7 in job.id add 1", 6, `"job.id add 1" is a number, not a list`},
		{"job.id" + strings.Repeat(" add 1", 65) + " = 1", 8 + 64*6, "more than 64 operators"},
		{"job.id = " + strings.Repeat("(", 65) + "1", 73, "nested more than 64 deep"},
		{strings.Repeat("(", 5000) + "job.id add 1" + strings.Repeat(")", 5000) + " = 1", 64, "nested more than 64 deep"},
	} {
		_, err := ParseRequirement(c.text, testProperties)
		var mistake *SyntaxError
		if !errors.As(err, &mistake) {
			t.Errorf("%.60s: %v, want %s", c.text, err, c.want)
			continue
		}
		if mistake.Column != c.column || !strings.Contains(mistake.Reason, c.want) {
			t.Errorf("%.60s: %v\nwant column %d: %s", c.text, err, c.column, c.want)
		}
	}
}

func TestFiltersCompute(t *testing.T) {
	for text, want := range map[string]bool{
		"priority div 2 = 50":                        true,
		"priority & 4 = 4 and name = *comp":          true,
		"(priority sub 1) mul 2 < 198 or user = ben": false,
	} {
		f, err := ParseFilter(text, filterFields)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if f.Passes(filterJob) != want || !f.Uses("priority") {
			t.Errorf("%s: passes %v, want %v", text, !want, want)
		}
	}
}

// drawWhole is random arithmetic of whole numbers with all its parentheses, and its value worked out in big integers; nil
// if it has none.
func drawWhole(t *rapid.T, depth int) (text string, value *big.Int) {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		if rapid.Bool().Draw(t, "property") {
			return "job.id", big.NewInt(9)
		}
		n := rapid.Int64Range(-40, 40).Draw(t, "n")
		return fmt.Sprint(n), big.NewInt(n)
	}
	left, x := drawWhole(t, depth-1)
	right, y := drawWhole(t, depth-1)
	sign := rapid.SampledFrom([]string{"min", "max", "add", "sub", "mul", "mod", "xor", "&", "|", "<<", ">>"}).Draw(t, "sign")
	text = "(" + left + ")" + sign + "(" + right + ")"
	if x == nil || y == nil {
		return text, nil
	}
	v := new(big.Int)
	switch sign {
	case "min", "max":
		if (x.Cmp(y) < 0) == (sign == "min") {
			v = x
		} else {
			v = y
		}
	case "add":
		v.Add(x, y)
	case "sub":
		v.Sub(x, y)
	case "mul":
		v.Mul(x, y)
	case "mod":
		if y.Sign() == 0 {
			return text, nil
		}
		v.Rem(x, y)
	case "xor":
		v.Xor(x, y)
	case "&":
		v.And(x, y)
	case "|":
		v.Or(x, y)
	default:
		if y.Sign() < 0 || y.Cmp(big.NewInt(53)) > 0 {
			return text, nil
		}
		if v.Rsh(x, uint(y.Int64())); sign == "<<" {
			v.Lsh(x, uint(y.Int64()))
		}
	}
	if new(big.Int).Abs(v).Cmp(big.NewInt(largestExact)) > 0 {
		return text, nil
	}
	return text, v
}

func TestArithmeticProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, value := drawWhole(t, 4)
		want := rapid.Int64Range(-50, 50).Draw(t, "want")
		if value != nil && rapid.Bool().Draw(t, "right") {
			want = value.Int64()
		}
		r, err := ParseRequirement("("+text+") sub job.id add job.id = "+fmt.Sprint(want), testProperties)
		if err != nil {
			t.Fatal(err)
		}
		checkRequirement(t, r)
		if holds := value != nil && value.Int64() == want; r.Holds(aHost(nil)) != holds {
			t.Fatalf("%s: holds %v, want %v of %v", r, !holds, want, value)
		}
	})
}
