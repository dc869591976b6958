package units

import (
	"encoding"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, exact string
		want        int64
	}{
		{"4000", "4000MiB", 4000 * MiB},
		{"4GiB", "4GiB", 4 * GiB},
		{"4GB", "4GiB", 4 * GiB},
		{"4g", "4GiB", 4 * GiB},
		{"4 gib", "4GiB", 4 * GiB},
		{" 1.5 GB ", "1536MiB", 3 << 29},
		{"1024M", "1GiB", GiB},
		{"1.5TB", "1536GiB", 3 << 39},
		{"10kb", "10KiB", 10 * KiB},
		{"64K", "64KiB", 64 * KiB},
		{"1500B", "1500B", 1500},
		{"+7B", "7B", 7},
		{"0", "0B", 0},
		{"0.5", "512KiB", 512 * KiB},
		{".5", "512KiB", 512 * KiB},
		{"2.", "2MiB", 2 * MiB},
		{"8PiB", "8PiB", 8 * PiB},
	} {
		got, err := ParseSize(c.text, MiB)
		if err != nil || got != c.want || ExactSize(got) != c.exact {
			t.Errorf("%s: %d, %s, %v; want %d, %s", c.text, got, ExactSize(got), err, c.want, c.exact)
		}
	}
	for _, text := range []string{"", "GB", "4XB", "-1", "1e3", "0x10", "inf", "NaN", "1..5", "+-1", "9PiB", "4bb", "4ib", "4iB", "4bib", "1_000", "5 apples", "4 GB x", "4G iB"} {
		if got, err := ParseSize(text, MiB); err == nil || !strings.Contains(err.Error(), "write") {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	_, err := ParseSize("4XB", Byte)
	if want := `"4XB" is no size; write 4GiB, 512MiB or 1.5TiB (a number alone is in bytes)`; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestNumberAlone: what a number without a unit means is the only difference between the keys.
func TestNumberAlone(t *testing.T) {
	t.Parallel()
	var b Bytes
	var m MiBytes
	for _, c := range []struct {
		into encoding.TextUnmarshaler
		got  func() int64
		want int64
	}{{&b, func() int64 { return int64(b) }, 4096}, {&m, func() int64 { return int64(m) }, 4096 * MiB}} {
		if err := c.into.UnmarshalText([]byte("4096")); err != nil || c.got() != c.want {
			t.Errorf("%T: %d, %v; want %d", c.into, c.got(), err, c.want)
		}
		if err := c.into.UnmarshalText([]byte("2GB")); err != nil || c.got() != 2*GiB {
			t.Errorf("%T of 2GB: %d, %v", c.into, c.got(), err)
		}
	}
}

func TestSizesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, MaxBytes).Draw(t, "bytes") << rapid.IntRange(0, 3).Draw(t, "shift") & (MaxBytes - 1)
		for _, alone := range []int64{Byte, MiB} {
			if got, err := ParseSize(ExactSize(bytes), alone); err != nil || got != bytes {
				t.Fatalf("%d is written %s and read as %d, %v", bytes, ExactSize(bytes), got, err)
			}
		}
		// What people read can be typed, and is near the truth.
		if got, err := ParseSize(Size(bytes), Byte); err != nil || got > bytes+bytes/19+1 || got < bytes-bytes/19-1 {
			t.Fatalf("%d is written %s and read as %d, %v", bytes, Size(bytes), got, err)
		}
	})
}

func TestSize(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1023 * KiB: "1023 KiB", MiB - 1: "1 MiB", 1200 * MiB: "1.2 GiB",
		16 * GiB: "16 GiB", 101 * GiB / 2: "50.5 GiB", 3 * TiB: "3 TiB", 8 * PiB: "8 PiB", -1536: "-1.5 KiB",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
	for bytes, want := range map[int64]string{-MiB: "-1MiB", 16 * PiB: "16PiB", 1025: "1025B", 1536 * MiB: "1536MiB"} {
		if got := ExactSize(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
		if got := ExactText(bytes); strings.Replace(got, " ", "", 1) != want || !strings.Contains(got, " ") {
			t.Errorf("%d: %s, want %s with a blank", bytes, got, want)
		}
	}
}
