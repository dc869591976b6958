package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"qb/api"
	"qb/supervisor/job/facts"
)

// jpegStart begins each JPEG. Instead of a picture a file may hold the code of why there is none.
var jpegStart = []byte{0xff, 0xd8, 0xff}

func unfinished(id facts.AttemptID) string { return PictureName(id) + ".new" }

// PutPicture keeps the picture of an attempt, or the code of why there is none. Nothing of it is decoded here.
func (s *Store) PutPicture(id facts.AttemptID, data []byte, code string) error {
	switch {
	case len(data) == 0 && api.PictureReasons[code] == "":
		code = api.PictureFailed // of a newer worker
		fallthrough
	case len(data) == 0:
		data = []byte(code)
	case len(data) > api.MaxPicture || !bytes.HasPrefix(data, jpegStart):
		return api.Errorf(api.KindInvalid, "data: a picture is a JPEG of at most %d bytes", api.MaxPicture)
	}
	name := PictureName(id)
	err := s.root.MkdirAll(path.Dir(name), 0o700)
	if err == nil {
		err = s.root.WriteFile(unfinished(id), data, 0o600)
	}
	if err == nil {
		err = s.root.Rename(unfinished(id), name)
	}
	if err != nil {
		return s.refused(err)
	}
	return nil
}

// Picture is the picture of an attempt, or the code of why there is none.
func (s *Store) Picture(id facts.AttemptID) (data []byte, code string, err error) {
	f, err := s.root.Open(PictureName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, api.PictureNone, nil
	}
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, api.MaxPicture))
	}
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("reading a picture: %w", err)
	case bytes.HasPrefix(data, jpegStart):
		return data, "", nil
	case api.PictureReasons[string(data)] != "":
		return nil, string(data), nil
	}
	return nil, api.PictureNone, nil // torn
}
