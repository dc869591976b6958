package core

import "testing"

func TestBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Bytes{"0": 0, "268435456": 256 << 20, "256MB": 256 << 20, "1.5 gb": 3 << 29, "64k": 64 << 10, "7B": 7} {
		var got Bytes
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q = %d, %v", text, got, err)
		}
		again, _ := got.MarshalText()
		var back Bytes
		if err := back.UnmarshalText(again); err != nil || back != got {
			t.Errorf("%q is written as %q", text, again)
		}
	}
	for _, text := range []string{"", "MB", "-1", "1e30", "NaN", "Inf", "5 apples"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %d", text, b)
		}
	}
}
