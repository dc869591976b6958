package openjd

import (
	"slices"
	"testing"
)

// FuzzRead: a reader never panics, its problems have places in the text, and what it accepts becomes a job or has
// problems again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"specificationVersion: jobtemplate-2023-09\nname: J\nsteps: [{name: S, script: {actions: {onRun: {command: c}}}}]\n",
		"specificationVersion: environment-2023-09\nenvironment: {name: E, variables: {A: '{{Session.WorkingDirectory}}'}}\n",
		`{"specificationVersion": "jobtemplate-2023-09", "name": "J", "steps": []}`,
		"a: &a [*a]\n<<: x\n", "- - - 1\n? [a]\n: b\n", "extensions: [TASK_CHUNKING]\nspecificationVersion: jobtemplate-2023-09\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, syntax := range []Syntax{YAML, JSON} {
			d, err := Read(text, syntax, nil)
			if err != nil {
				problems, ok := err.(Problems)
				if !ok || len(problems) == 0 {
					t.Fatalf("the error is %T %v", err, err)
				}
				for _, p := range problems {
					if p.Line > len(text)+1 || p.Column < 0 {
						t.Errorf("%v: there are %d bytes", p, len(text))
					}
				}
				continue
			}
			if d.Job == nil {
				continue
			}
			j, err := CreateJob(d.Job, Submission{TemplateDir: "/t", WorkingDir: "/w"})
			if err != nil {
				continue
			}
			for _, s := range j.Steps {
				s.Space.At(0)
				s.Space.At(s.Space.Len() - 1)
			}
		}
	})
}

// FuzzFormat: parts of a format string make up its text again, and values are put in once.
func FuzzFormat(f *testing.F) {
	for _, seed := range []string{"", "a", "{{Param.A}}", "a{{ Param.A }}b{{RawParam.B}}", "{{", "}}", "{{}}", "{{{A}}}", "{{A.}}", "{{A}}}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parts, err := parseFormat(s)
		if err != nil {
			return
		}
		format := Format{Text: s, parts: parts}
		values := map[string]string{}
		for _, name := range format.References() {
			values[name] = "{{" + name + "}}"
		}
		resolved, err := format.Resolve(values)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseFormat(resolved)
		if err != nil || !slices.Equal(again, parts) {
			t.Errorf("%q is %v, and %q is %v, %v", s, parts, resolved, again, err)
		}
	})
}

// FuzzRange: what is written of a range is the same range, and its values increase.
func FuzzRange(f *testing.F) {
	for _, seed := range []string{"1-10", "1-10:2,20", "-5--1", " 1 - 3 : 2 ", "10-1:-3", "1,2,3,5,7,9", "1-3,4-6", "9223372036854775806-9223372036854775807", "-9223372036854775808-9223372036854775807:9223372036854775807"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRange(s)
		if err != nil {
			return
		}
		n := min(r.Len(), 200)
		var values []int64
		for i := range n {
			values = append(values, r.At(i))
		}
		if !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != len(values) {
			t.Errorf("%q has the values %v", s, values)
		}
		again, err := ParseRange(r.text(0, n))
		if err != nil || again.Len() != n {
			t.Fatalf("%q is written %q: %v", s, r.text(0, n), err)
		}
		for i, v := range values {
			if again.At(int64(i)) != v {
				t.Errorf("%q is written %q, whose value %d is %d, not %d", s, r.text(0, n), i, again.At(int64(i)), v)
			}
		}
		checkChunks(t, r, n)
	})
}

// checkChunks: chunks have the values of a range, each once, in its order, and contiguous ones have no gap.
func checkChunks(t *testing.T, r *Range, n int64) {
	if n < r.Len() {
		return
	}
	for _, most := range []int64{1, 2, 3, 7, 1000} {
		for _, contiguous := range []bool{true, false} {
			c := newChunked(r, most, contiguous)
			next := int64(0)
			for i := range c.count() {
				chunk, err := ParseRange(c.at(i))
				if err != nil || chunk.Len() > most {
					t.Fatalf("chunk %d is %q: %v", i, c.at(i), err)
				}
				for k := range chunk.Len() {
					if next >= r.Len() || chunk.At(k) != r.At(next) {
						t.Fatalf("chunk %d is %q, and value %d is next of %q", i, c.at(i), next, r.text(0, r.Len()))
					}
					next++
				}
				if contiguous && chunk.At(chunk.Len()-1)-chunk.At(0) != chunk.Len()-1 {
					t.Fatalf("chunk %d, %q, has a gap", i, c.at(i))
				}
			}
			if next != r.Len() {
				t.Fatalf("the chunks have %d of %d values", next, r.Len())
			}
		}
	}
}
