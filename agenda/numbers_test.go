package agenda_test

import (
	"strings"
	"testing"

	"qb/agenda"
)

func TestNumbers(t *testing.T) {
	spans, err := agenda.ParseNumbers("0-3,7,9-9")
	if err != nil {
		t.Fatal(err)
	}
	var in []int
	for n := range 20 {
		if agenda.Within(spans, n) {
			in = append(in, n)
		}
	}
	if got := agenda.NumbersText(in); got != "0-3,7,9" {
		t.Errorf("the numbers are %s", got)
	}
	for _, wrong := range []string{"", "x", "-1", "3-1", "1,", "1-2-3", "99999999999", strings.Repeat("1,", 1000) + "1"} {
		if spans, err := agenda.ParseNumbers(wrong); err == nil {
			t.Errorf("%.20q is read as %v", wrong, spans)
		}
	}
}
