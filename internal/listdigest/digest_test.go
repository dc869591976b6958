package listdigest

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestDigestAsDocumented: the digest is as api.Sync describes it.
func TestDigestAsDocumented(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sum, modulus := new(big.Int), new(big.Int).Lsh(big.NewInt(1), 128)
		var d Digest
		for range rapid.IntRange(0, 5).Draw(t, "lines") {
			l := rapid.Make[Line]().Draw(t, "line")
			d.Add(l)
			text := fmt.Sprintf("%d.%d %d %d %s %d", l.Job, l.Instance, l.Item, l.Number, l.Word, l.Suspension)
			one := sha256.Sum256([]byte(text))
			sum.Mod(sum.Add(sum, new(big.Int).SetBytes(one[:16])), modulus)
		}
		if want := fmt.Sprintf("%032x", sum); d.String() != want {
			t.Fatalf("%s, by the description %s", d, want)
		}
	})
	var d Digest
	d.Add(Line{7, 0, 12, 1, "running", 0})
	if got := d.String(); got != "894f95ea23d98d907e5672159e4b8643" {
		t.Errorf("the example of the documents has the digest %s", got)
	}
}

// TestEverythingCounts: a list that differs in one member of one line has another digest, and what was added is taken
// off again in any order.
func TestEverythingCounts(t *testing.T) {
	line := Line{1, 2, 3, 4, "running", 5}
	var digest Digest
	digest.Add(line)
	for n := range reflect.TypeFor[Line]().NumField() {
		other := line
		if field := reflect.ValueOf(&other).Elem().Field(n); field.Kind() == reflect.String {
			field.SetString("idle")
		} else {
			field.SetInt(field.Int() + 1)
		}
		var d Digest
		if d.Add(other); d == digest {
			t.Errorf("%+v and %+v have one digest", line, other)
		}
		d.Add(line)
		if d.Remove(other); d != digest {
			t.Errorf("after %+v was added and taken off, the digest is %s, not %s", other, d, digest)
		}
	}
}
