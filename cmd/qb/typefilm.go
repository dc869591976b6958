package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"qb/api"
)

// A film in MP4 or MOV is a tree of boxes (ISO/IEC 14496-12): each has its size in four bytes, its name in four, and
// its content. The size and the number of pictures are in boxes of a track:
//
//	moov ─▶ trak ─▶ tkhd: width and height
//	           └──▶ mdia ─▶ minf ─▶ stbl ─▶ stsz: the number of pictures

var errNoFilm = errors.New("is no complete film in MP4 or MOV")

// box is the content of the first box of each name on a way into the tree.
func box(content []byte, way ...string) ([]byte, error) {
	for _, name := range way {
		for {
			if len(content) < 8 {
				return nil, fmt.Errorf("%w: it has no box %s", errNoFilm, name)
			}
			size, head := uint64(binary.BigEndian.Uint32(content)), uint64(8)
			if size == 1 && len(content) >= 16 { // a large one has its size after its name
				size, head = binary.BigEndian.Uint64(content[8:]), 16
			}
			if size == 0 { // the last one
				size = uint64(len(content))
			}
			if size < head || size > uint64(len(content)) {
				return nil, fmt.Errorf("%w: a box before %s breaks off", errNoFilm, name)
			}
			if string(content[4:8]) == name {
				content = content[head:size]
				break
			}
			content = content[size:]
		}
	}
	return content, nil
}

// checkFilm checks the first track of a film.
func checkFilm(content []byte, e api.JobTypeResult) (seen string, err error) {
	track, err := box(content, "moov", "trak")
	if err != nil {
		return "", err
	}
	head, err := box(track, "tkhd")
	if err != nil || len(head) < 8 {
		return "", errNoFilm
	}
	sizes, err := box(track, "mdia", "minf", "stbl", "stsz")
	if err != nil || len(sizes) < 12 {
		return "", errNoFilm
	}
	width := int(binary.BigEndian.Uint16(head[len(head)-8:])) // whole pixels, before as many bits of fractions
	height := int(binary.BigEndian.Uint16(head[len(head)-4:]))
	pictures := int(binary.BigEndian.Uint32(sizes[8:]))
	if width != e.Width || height != e.Height || pictures != e.Pictures {
		return "", fmt.Errorf("has %d pictures of %d x %d pixels instead of %d of %d x %d", pictures, width, height,
			e.Pictures, e.Width, e.Height)
	}
	return fmt.Sprintf("%d pictures of %d x %d pixels", pictures, width, height), nil
}
