package picture

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"qb/api"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Word {
		os.Exit(Main(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func noise(w, h int) *image.NRGBA64 {
	r, m := rand.New(rand.NewPCG(1, 2)), image.NewNRGBA64(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
	}
	return m
}

func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// claims is a PNG that says it has so many pixels, and has none.
func claims(w, h uint32) []byte {
	head := append([]byte("IHDR"), 0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0)
	binary.BigEndian.PutUint32(head[4:], w)
	binary.BigEndian.PutUint32(head[8:], h)
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

// TestShrink: all formats become a JPEG that is small in bytes and pixels, and what cannot be decoded has a code.
func TestShrink(t *testing.T) {
	plain := image.NewNRGBA(image.Rect(0, 0, 1000, 500))
	for i := range plain.Pix {
		plain.Pix[i] = 200
	}
	encoded := func(encode func(*bytes.Buffer) error) []byte {
		var out bytes.Buffer
		if err := encode(&out); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	webp, _ := base64.StdEncoding.DecodeString("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
	whole := pngOf(t, plain)
	for _, c := range []struct {
		name string
		data []byte
		w, h int
		code string
	}{
		{"png", whole, 320, 160, ""},
		{"png of 16 bits that is all noise", pngOf(t, noise(700, 700)), 0, 0, ""},
		{"jpeg", encoded(func(b *bytes.Buffer) error { return jpeg.Encode(b, plain, nil) }), 320, 160, ""},
		{"gif", encoded(func(b *bytes.Buffer) error { return gif.Encode(b, plain, nil) }), 320, 160, ""},
		{"bmp", encoded(func(b *bytes.Buffer) error { return bmp.Encode(b, plain) }), 320, 160, ""},
		{"tiff", encoded(func(b *bytes.Buffer) error { return tiff.Encode(b, plain, &tiff.Options{Compression: tiff.Deflate}) }), 320, 160, ""},
		{"webp", webp, 1, 1, ""},
		{"a line", pngOf(t, image.NewGray(image.Rect(0, 0, 30000, 1))), 320, 1, ""},
		{"a small one", pngOf(t, image.NewGray(image.Rect(0, 0, 3, 2))), 3, 2, ""},
		{"4 billion pixels", claims(65535, 65535), 0, 0, api.PictureTooLarge},
		{"a long side", claims(1<<20, 1), 0, 0, api.PictureTooLarge},
		{"a header alone", claims(100, 100), 0, 0, api.PictureBroken},
		{"half of it", whole[:len(whole)/2], 0, 0, api.PictureBroken},
		{"text", []byte("this is no picture"), 0, 0, api.PictureUnknown},
		{"nothing", nil, 0, 0, api.PictureUnknown},
	} {
		data, err := shrink(bytes.NewReader(c.data), int64(len(c.data)))
		var why refusal
		if errors.As(err, &why); string(why) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
			continue
		}
		if err != nil {
			continue
		}
		shape, kind, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || kind != "jpeg" || len(data) > api.MaxPicture || c.w > 0 && (shape.Width != c.w || shape.Height != c.h) || shape.Width > longest {
			t.Errorf("%s becomes a %s of %d bytes, %d x %d: %v", c.name, kind, len(data), shape.Width, shape.Height, err)
		}
	}
	clear := image.NewNRGBA(image.Rect(0, 0, 10, 10))
	clear.Set(0, 0, color.NRGBA{255, 255, 255, 0})
	if r, _, _, _ := scaled(clear, longest).At(0, 0).RGBA(); r != 0 {
		t.Error("what is clear is not black")
	}
}

// TestChild: only regular files that the owner may read are opened, and nothing hangs.
func TestChild(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	os.Chmod(filepath.Dir(dir), 0o755)
	write := func(name string, data []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, data, mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.png", pngOf(t, image.NewGray(image.Rect(0, 0, 8, 8))), 0o644)
	write("secret.png", pngOf(t, image.NewGray(image.Rect(0, 0, 8, 8))), 0o600)
	write("-rf.exr", []byte("exr"), 0o644)
	for _, err := range []error{
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666), os.Symlink("good.png", filepath.Join(dir, "link")), os.Symlink("secret.png", filepath.Join(dir, "spy")),
		os.Symlink("loop", filepath.Join(dir, "loop")), os.Symlink("/dev/zero", filepath.Join(dir, "zero")), os.Mkdir(filepath.Join(dir, "folder"), 0o755),
		os.Truncate(write("huge.png", claims(10, 10), 0o644), mostBytes+1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m := NewMaker([]string{"/proc/self/exe", "shim"}, nil, nil, nil)
	var owner *syscall.Credential
	denied := ""
	if os.Geteuid() == 0 {
		owner, denied = &syscall.Credential{Uid: 65534, Gid: 65534}, api.PictureDenied
	}
	said := filepath.Join(dir, "said")
	os.Mkdir(said, 0o777)
	os.Chmod(said, 0o777)
	confined := []string{"sh", "-c", `cat >/dev/null; { ulimit -v; ulimit -n; ulimit -c; nice; grep NoNewPrivs /proc/self/status; id -u; ls /proc/self/fd | wc -l; } > ` + said + `/limits; cat ` + good}
	for _, c := range []struct {
		files     string
		converter []string
		code      string
	}{
		{"good.png", nil, ""}, {"link", nil, ""}, {"missing.png", nil, api.PictureMissing}, {"pipe", nil, api.PictureNoFile}, {"/dev/tty", nil, api.PictureNoFile},
		{"zero", nil, api.PictureNoFile}, {"folder", nil, api.PictureNoFile}, {"loop", nil, api.PictureFailed}, {"huge.png", nil, api.PictureTooLarge}, {"good.png/x", nil, api.PictureMissing},
		{"secret.png", nil, denied}, {"spy", nil, denied}, {"../../../../../../etc/shadow", nil, denied}, {"-rf.exr", nil, api.PictureUnknown},
		{"missing.png,pipe,good.png", nil, ""}, {"pipe,missing.png", nil, api.PictureNoFile},
		{"-rf.exr", confined, ""}, {"-rf.exr", []string{"false"}, api.PictureConverter}, {"-rf.exr", []string{"/nowhere/convert"}, api.PictureConverter},
		{"-rf.exr", []string{"cat"}, api.PictureConverter}, {"-rf.exr", []string{"cat", "/dev/zero"}, api.PictureConverter}, {"good.png", []string{"false"}, ""}, {"huge.png", confined, api.PictureTooLarge},
	} {
		if c.code == "" && denied == "" && c.files != "good.png" && strings.Contains("secret.png spy ../../../../../../etc/shadow", c.files) {
			continue // these need another user
		}
		m.Converter = c.converter
		began := time.Now()
		got := m.make(t.Context(), Request{Files: strings.Split(c.files, ","), Dir: dir, Owner: owner, Env: []string{"PATH=/usr/bin:/bin"}})
		if got.Code != c.code || (len(got.Data) > 0) != (c.code == "") {
			t.Errorf("%s with %v: %d bytes and code %q after %s, want %q", c.files, c.converter, len(got.Data), got.Code, time.Since(began), c.code)
		}
	}
	limits, _ := os.ReadFile(said + "/limits")
	if words := strings.Fields(string(limits)); len(words) != 8 || words[0] == "unlimited" || words[1] != "64" || words[2] != "0" || words[3] < "10" || words[5] != "1" || owner != nil && words[6] != "65534" || words[7] != "4" {
		t.Errorf("the command is held to %q", words)
	}
	m.Converter, m.limit = []string{"sh", "-c", "sleep 100 & sleep 100"}, 300*time.Millisecond
	if got := m.make(t.Context(), Request{Files: []string{"-rf.exr"}, Dir: dir, Owner: owner}); got.Code != api.PictureTime {
		t.Errorf("a command that hangs: %+v", got)
	}
	m.limit = timeLimit
	m.Program = []string{"/bin/sh", "sh", "-c", "head -c 1000000 /dev/zero"}
	if got := m.make(t.Context(), Request{Files: []string{"good.png"}, Dir: dir}); got.Code != api.PictureFailed {
		t.Errorf("a child that says too much: %+v", got)
	}
}

// TestOwnersTakeTurns: an owner with many orders keeps another's waiting for one, and an owner whose child does not end
// for none.
func TestOwnersTakeTurns(t *testing.T) {
	q := newQueue()
	order := func(uid uint32) Request { return Request{Owner: &syscall.Credential{Uid: uid}} }
	for n := range waiting + 1 {
		if got := q.add(order(1)); got != (n < waiting) {
			t.Errorf("order %d of one owner: %t", n, got)
		}
	}
	for range 2 { // in place of another's newest
		if !q.add(order(2)) || q.count != waiting {
			t.Errorf("no place for another owner, %d wait", q.count)
		}
	}
	turns := ""
	next := func() {
		if o, ok := q.next(); ok {
			turns += fmt.Sprint(o.owner())
		}
	}
	for range 3 {
		next()
	}
	ended := make(chan error, 1)
	q.stick(order(1), ended)
	next()
	next()
	ended <- nil
	for len(turns) == 4 {
		<-q.wake
		next()
	}
	if turns != "12121" {
		t.Errorf("turns %s", turns)
	}
}

// TestMaker: no one waits for a place, what fails on the way is tried a few times, and a host without room makes none.
func TestMaker(t *testing.T) {
	var room atomic.Bool
	shipped := make(chan api.Picture)
	m := NewMaker([]string{"/nowhere"}, nil, room.Load, func(ctx context.Context, p api.Picture) error {
		shipped <- p
		return nil
	})
	for n := range waiting {
		owner := &syscall.Credential{Uid: uint32(n / 16)}
		if !m.Add(Request{Attempt: api.AttemptID{Job: int64(n + 1)}, Owner: owner}) {
			t.Fatalf("no place for order %d", n)
		}
	}
	if m.Add(Request{Owner: &syscall.Credential{Uid: 1}}) {
		t.Error("there is no bound")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	if p := <-shipped; p.Attempt.Job != 1 || p.Code != api.PictureMemory {
		t.Errorf("without room: %+v", p)
	}
	room.Store(true)
	if p := <-shipped; p.Attempt.Job != 17 || p.Code != api.PictureMemory && p.Code != api.PictureFailed {
		t.Errorf("without a program: %+v", p)
	}
	cancel()
	for {
		select {
		case <-shipped:
			continue
		case <-done:
		}
		break
	}
}
