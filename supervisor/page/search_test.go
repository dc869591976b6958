package page

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"qb/api"
	"qb/internal/patterns"
	"qb/supervisor/store/logstore"
)

// written is a piece of output as a log has it.
func written(stream byte, text string) []byte {
	head := make([]byte, 5, 5+len(text))
	head[0] = stream
	binary.LittleEndian.PutUint32(head[1:], uint32(len(text)))
	return append(head, text...)
}

func find(t interface{ Fatal(...any) }, log io.Reader, q LogQuery) api.LogMatches {
	if q.Time == 0 {
		q.Time = time.Minute
	}
	r, err := SearchLog(context.Background(), log, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSearch: lines are found once each, in the stream that is asked for, with their numbers and places.
func TestSearch(t *testing.T) {
	var log []byte
	for _, f := range []struct {
		stream byte
		text   string
	}{{logstore.StreamOut, "one seg"}, {logstore.StreamErr, "segv err\n"}, {logstore.StreamOut, "v two segv\nthree\n"},
		{logstore.StreamOut, "\nlast segv"}} {
		log = append(log, written(f.stream, f.text)...)
	}
	for _, c := range []struct {
		q    LogQuery
		want string
	}{
		{LogQuery{Want: logstore.StreamOut, Text: "segv", Most: 9}, "1@4(0):segv two segv 4@30(25):segv; 34 true"},
		{LogQuery{Want: logstore.StreamErr, Text: "segv", Most: 9}, "1@0(0):segv err; 9 true"},
		{LogQuery{Want: logstore.StreamBoth, Text: "segv", Most: 9}, "1@7(0):segv err 2@22(16):segv 5@39(34):segv; 43 true"},
		{LogQuery{Want: logstore.StreamOut, Text: "segv", Most: 1}, "1@4(0):segv two segv; 18 false"},
		{LogQuery{Want: logstore.StreamOut, Text: "segv", Most: 9, From: 18}, "4@30(25):segv; 34 true"},
		{LogQuery{Want: logstore.StreamOut, Text: "three\n\nl", Most: 9}, "2@18(18):three; 34 true"},
		{LogQuery{Want: logstore.StreamOut, Text: "absent", Most: 9}, "; 34 true"},
	} {
		for _, reader := range []io.Reader{bytes.NewReader(log), iotest.OneByteReader(bytes.NewReader(log))} {
			if got := told(find(t, reader, c.q)); got != c.want {
				t.Errorf("%+v: %s, want %s", c.q, got, c.want)
			}
		}
	}
}

func told(r api.LogMatches) string {
	var list []string
	for _, m := range r.Matches {
		list = append(list, fmt.Sprintf("%d@%d(%d):%s", m.Line, m.Offset, m.LineOffset, m.Text))
	}
	return fmt.Sprintf("%s; %d %v", strings.Join(list, " "), r.Next, r.Complete)
}

// TestSearchUnits: in UTF-16 a find begins with a unit, and not with the second half of one.
func TestSearchUnits(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, c := range []struct {
			output string
			want   int
		}{{"愀愀", 0}, {"愀愀愀a", 1}, {"a愀", 1}, {"愀\n愀愀\na", 1}} {
			log := written(logstore.StreamOut, widened(order, c.output))
			got := find(t, bytes.NewReader(log), LogQuery{Want: logstore.StreamOut, Text: "a", Most: 9})
			if len(got.Matches) != c.want {
				t.Errorf("%q in %v: %s, want %d finds", c.output, order, told(got), c.want)
			}
		}
	}
}

// TestSearchFindsAll: in random output, read in random pieces and a few lines at a time, the search returns exactly the
// lines with the text.
func TestSearchFindsAll(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aab\n\r\b")), 0, 2000, -1).Draw(r, "output")
		want := rapid.SampledFrom([]string{"a", "ab", "aab", "bbbbb"}).Draw(r, "text")
		var lines []int64
		for n, line := range linesOf(text) {
			if strings.Contains(line, want) {
				lines = append(lines, int64(n+1))
			}
		}
		wide := rapid.SampledFrom([]binary.AppendByteOrder{nil, binary.LittleEndian, binary.BigEndian}).Draw(r, "encoding")
		step, marked := int64(1), rapid.Bool().Draw(r, "marked")
		text = dressed(r, text, wide == nil || marked)
		switch {
		case wide != nil:
			step = 2
			if text = widened(wide, text); !marked && len(text) > 6 {
				text = text[2:]
			}
		case marked:
			text = "\ufeff" + text
		}
		var log []byte
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "piece")
			log, rest = append(log, written(logstore.StreamOut, rest[:n])...), rest[n:]
		}
		var found []int64
		for from, complete := int64(0), false; !complete; {
			got := find(r, iotest.HalfReader(bytes.NewReader(log)),
				LogQuery{Text: want, From: from, Most: rapid.IntRange(1, 5).Draw(r, "most")})
			for _, m := range got.Matches {
				found = append(found, m.Line)
				narrow := patterns.Plain(strings.ReplaceAll(text[m.Offset:], "\x00", ""))
				if !strings.HasPrefix(narrow, want) || strings.ContainsAny(text[m.Offset:m.Offset+step], "\x1b\x00") && step == 1 ||
					m.LineOffset > 3 && !strings.ContainsAny(text[m.LineOffset-step:m.LineOffset], patterns.Ends) {
					r.Fatalf("%+v", m)
				}
			}
			if !got.Complete && got.Next <= from {
				r.Fatalf("no progress from %d", from)
			}
			from, complete = got.Next, got.Complete
		}
		if fmt.Sprint(found) != fmt.Sprint(lines) {
			r.Fatalf("lines %v, want %v", found, lines)
		}
	})
}

// dressed is text with what is none before its letters.
func dressed(r *rapid.T, text string, nul bool) string {
	sequences := []string{"", "", "", "\x1b[31m", "\x1b]0;ab\a", "\x1b[K\x1b(B", "\x1b\x1b[0m"}
	if nul {
		sequences = append(sequences, "\x00")
	}
	draw := rapid.SampledFrom(sequences)
	return regexp.MustCompile(`[ab]`).ReplaceAllStringFunc(text, func(letter string) string {
		return draw.Draw(r, "sequence") + letter
	})
}

// linesOf is the definition of a line, written down otherwise.
func linesOf(text string) (lines []string) {
	text = regexp.MustCompile(`[\r\x08]+\n?`).ReplaceAllString(text, "\r") // a run of them ends one line
	for _, line := range strings.SplitAfter(text, "\n") {
		for _, part := range strings.SplitAfter(line, "\r") {
			if part != "\r" && part != "" {
				lines = append(lines, strings.TrimRight(part, "\r\n"))
			}
		}
	}
	return lines
}

// widened is text in UTF-16 with its mark.
func widened(order binary.AppendByteOrder, text string) string {
	wide := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(text)) {
		wide = order.AppendUint16(wide, unit)
	}
	return string(wide)
}

// endless is a log without an end, whose bytes are counted.
type endless struct {
	piece []byte
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		part := copy(p[n:], e.piece[e.read%len(e.piece):])
		n, e.read = n+part, e.read+part
	}
	return n, nil
}

// TestSearchBounds: a search ends in its time, and 256 MB with lines of a megabyte are searched without holding them.
func TestSearchBounds(t *testing.T) {
	log := &endless{piece: written(logstore.StreamOut, strings.Repeat("x", 1<<20)+"\n")}
	began := time.Now()
	r := find(t, log, LogQuery{Text: "y", Most: 1, Time: 50 * time.Millisecond})
	if took := time.Since(began); r.Complete || r.Next == 0 || took > 5*time.Second {
		t.Errorf("%+v after %s", r, took)
	}
	whole := io.MultiReader(io.LimitReader(&endless{piece: log.piece},
		256<<20/int64(len(log.piece))*int64(len(log.piece))), bytes.NewReader(written(logstore.StreamOut, "the needle\n")))
	began = time.Now()
	r = find(t, whole, LogQuery{Text: "needle", Most: 1000})
	t.Logf("%d bytes in %s", r.Next, time.Since(began))
	if len(r.Matches) != 1 || !r.Complete || r.Matches[0].Line != 256 && r.Matches[0].Line != 255 {
		t.Errorf("%+v", r)
	}
}
