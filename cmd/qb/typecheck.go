package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qb/api"
	"qb/cmd/qb/output"
)

// What a file of a sample may have: more is not read.
const (
	mostResult = 64 << 20
	mostPixels = 64 << 20
)

// typeChecks prints checks and counts them.
type typeChecks struct {
	out    io.Writer
	folder string
	done   int
	wrong  int
}

func (k *typeChecks) say(text string, good bool) {
	k.done++
	word := "ok    "
	if !good {
		k.wrong++
		word = "wrong "
	}
	fmt.Fprintln(k.out, word, output.Escape(text))
}

// files checks all files of the folder: those expected must be there, and no others.
func (k *typeChecks) files(s *api.JobTypeSample) error {
	there, err := found(k.folder)
	if err != nil {
		return api.Errorf(api.KindConflict, "the files of the test cannot be listed: %v", err)
	}
	of := map[[sha256.Size]byte]string{}
	for _, e := range s.Expected {
		if !slices.Contains(there, e.Name) {
			k.say(e.Name+" is missing", false)
			continue
		}
		seen, hash, err := k.file(e)
		if err != nil {
			k.say(e.Name+" "+err.Error(), false)
			continue
		}
		if equal := of[hash]; s.Differ && equal != "" {
			k.say(fmt.Sprintf("%s has %s, but is equal to %s", e.Name, seen, equal), false)
			continue
		}
		of[hash] = e.Name
		k.say(e.Name+" has "+seen, true)
	}
	for _, name := range there {
		_, given := s.Files[name]
		expected := slices.ContainsFunc(s.Expected, func(e api.JobTypeResult) bool { return e.Name == name })
		if !given && !expected {
			k.say(name+" is there, and is not expected", false)
		}
	}
	return nil
}

// file checks a file: what it has, and a hash of its content or pixels.
func (k *typeChecks) file(e api.JobTypeResult) (seen string, hash [sha256.Size]byte, err error) {
	f, err := os.Open(filepath.Join(k.folder, filepath.FromSlash(e.Name)))
	if err != nil {
		return "", hash, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostResult {
		return "", hash, fmt.Errorf("is no regular file of at most %d bytes", mostResult)
	}
	content, err := io.ReadAll(io.LimitReader(f, mostResult))
	if err != nil {
		return "", hash, fmt.Errorf("cannot be read: %w", err)
	}
	switch {
	case e.Content != nil && string(content) != *e.Content:
		return "", hash, fmt.Errorf("has %s instead of %s", clipped(string(content)), clipped(*e.Content))
	case e.Content != nil:
		return "the text that is expected", sha256.Sum256(content), nil
	case e.Pictures > 0:
		seen, err = checkFilm(content, e)
		return seen, sha256.Sum256(content), err
	}
	return checkPicture(content, e)
}

// clipped quotes the begin of a text.
func clipped(text string) string {
	if len(text) > 100 {
		return fmt.Sprintf("%q… (%d bytes)", text[:100], len(text))
	}
	return fmt.Sprintf("%q", text)
}

// checkPicture decodes a picture as a whole, so that an incomplete picture is found.
func checkPicture(content []byte, e api.JobTypeResult) (seen string, hash [sha256.Size]byte, err error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return "", hash, fmt.Errorf("is no picture in PNG, JPEG or GIF: %w", err)
	}
	if c.Width != e.Width || c.Height != e.Height {
		return "", hash, fmt.Errorf("has %d x %d pixels instead of %d x %d", c.Width, c.Height, e.Width, e.Height)
	}
	if c.Width > mostPixels/c.Height {
		return "", hash, fmt.Errorf("has more than %d pixels, and is not decoded", mostPixels)
	}
	picture, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return "", hash, fmt.Errorf("has no complete picture: %w", err)
	}
	colours := map[color.NRGBA64]bool{}
	sum := sha256.New()
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			pixel := color.NRGBA64Model.Convert(picture.At(x, y)).(color.NRGBA64)
			fmt.Fprint(sum, pixel.R, pixel.G, pixel.B, pixel.A)
			if len(colours) < e.Colours {
				colours[pixel] = true
			}
		}
	}
	if len(colours) < e.Colours {
		return "", hash, fmt.Errorf("has %d different colours, and %d are expected at least", len(colours), e.Colours)
	}
	seen = fmt.Sprintf("%d x %d pixels, %s", c.Width, c.Height, strings.ToUpper(format))
	return seen, [sha256.Size]byte(sum.Sum(nil)), nil
}
