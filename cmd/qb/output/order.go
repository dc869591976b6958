package output

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// ordered is the rows in the order that the options ask for. Rows with the same value keep their order.
func (l *Lister[T]) ordered(rows []T) []T {
	rows = slices.Clone(rows)
	if l.sorting != nil {
		slices.SortStableFunc(rows, l.sorting.compare)
	}
	if l.options.reverse {
		slices.Reverse(rows)
	}
	return rows
}

// compare compares a column of two rows: members by their value, texts in such a way that w2 comes before w10.
func (c *Column[T]) compare(a, b T) int {
	if c.Text == nil {
		va, vb := c.member(&a), c.member(&b)
		switch {
		case !va.IsValid() || !vb.IsValid(): // null is less than anything
			return cmp.Compare(boolean(va.IsValid()), boolean(vb.IsValid()))
		case va.CanInt():
			return cmp.Compare(va.Int(), vb.Int())
		case va.CanFloat():
			return cmp.Compare(va.Float(), vb.Float())
		case va.Type() == reflect.TypeFor[time.Time]():
			return va.Interface().(time.Time).Compare(vb.Interface().(time.Time))
		}
	}
	return natural(c.Of(a), c.Of(b))
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// natural compares texts with runs of digits as numbers.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx == 0 || ny == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		p, q := strings.TrimLeft(x[:nx], "0"), strings.TrimLeft(y[:ny], "0")
		if n := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); n != 0 {
			return n
		}
		x, y = x[nx:], y[ny:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits is the length of the number at the beginning of a text.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
