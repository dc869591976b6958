package facts

import (
	"net/mail"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"ada@studio.example": true, "a.d+a/x=y@localhost": true, "o'neil@xn--bcher-kva.example": true, strings.Repeat("a", 64) + "@x.example": true,
		"": false, "ada": false, "@x": false, "ada@": false, "a@b@c": false, ".ada@x": false, "ada.@x": false, "a..b@x": false, "Ada <ada@x>": false,
		"<ada@x>": false, "ada@x>": false, "a b@x": false, "ada@x\r\nRCPT TO:<b@y>": false, "ada\x00@x": false, "äda@x": false, "ada@bücher.example": false,
		`"a b"@x`: false, "ada@[127.0.0.1]": false, "ada@-x": false, "ada@x-.example": false, "ada@x..y": false, "ada@x.": false, "a,b@x": false,
		strings.Repeat("a", 65) + "@x": false, "ada@" + strings.Repeat("a", 64): false, "ada@" + strings.Repeat("a.", 130) + "a": false,
	} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A history is everybody's: it does not have the addresses.
func TestAddressesAreNoHistory(t *testing.T) {
	var c JobChange
	c.Set("mailaddress", []string{"ada@studio.example"})
	c.Set("cpus", 4)
	if got := c.String(); got != "cpus = 4, mailaddress changed" {
		t.Error(got)
	}
}

// Whatever is taken for an address is one by the rules of mail too, as it is, and cannot leave its place in a command
// or header.
func TestAddressesAreSafe(t *testing.T) {
	parts := rapid.SampledFrom([]string{"a", "ada", ".", "@", "studio", "example", "-", "\r\n", "<", ">", ",", " ", "\"", "ä", "+", "\x00", "(", ")", ";", ":"})
	rapid.Check(t, func(t *rapid.T) {
		address := strings.Join(rapid.SliceOfN(parts, 1, 9).Draw(t, "parts"), "")
		if CheckAddress(address) != nil {
			return
		}
		if strings.ContainsAny(address, "\r\n<>,;:\" \x00()") {
			t.Errorf("%q is taken", address)
		}
		if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
			t.Errorf("%q: %v, %v", address, parsed, err)
		}
	})
}
