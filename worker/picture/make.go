package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	_ "image/gif" // the formats that are decoded
	"image/jpeg"
	_ "image/png"
	"io"

	_ "golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"qb/api"
)

// Bounds of what is decoded.
const (
	mostBytes  = 512 << 20
	mostPixels = 40 << 20 // one of 8K has 33 million; 16 bits a channel take 8 bytes each
	mostSide   = 32 << 10
	longest    = 320 // pixels of a picture's longer side
)

// refusal is a code: why there is no picture.
type refusal string

func (r refusal) Error() string { return api.PictureReasons[string(r)] }

// shrink makes a small JPEG of an image in one of the known formats.
func shrink(file io.ReaderAt, size int64) (data []byte, err error) {
	defer func() {
		if recover() != nil { // a decoder stumbled over what somebody made for that
			data, err = nil, refusal(api.PictureBroken)
		}
	}()
	if size > mostBytes {
		return nil, refusal(api.PictureTooLarge)
	}
	shape, _, err := image.DecodeConfig(io.NewSectionReader(file, 0, size))
	switch {
	case errors.Is(err, image.ErrFormat):
		return nil, refusal(api.PictureUnknown)
	case err != nil || shape.Width <= 0 || shape.Height <= 0:
		return nil, refusal(api.PictureBroken)
	case shape.Width > mostSide || shape.Height > mostSide || shape.Width*shape.Height > mostPixels:
		return nil, refusal(api.PictureTooLarge)
	}
	whole, _, err := image.Decode(io.NewSectionReader(file, 0, size))
	if err != nil || whole.Bounds().Empty() {
		return nil, refusal(api.PictureBroken)
	}
	return encode(whole)
}

// encode gives up sharpness, then size, until the picture has few enough bytes.
func encode(whole image.Image) ([]byte, error) {
	for side := longest; side > 16; side = side * 3 / 4 {
		small := scaled(whole, side)
		for _, quality := range []int{85, 70, 55, 40} {
			var out bytes.Buffer
			if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: quality}); err != nil {
				return nil, refusal(api.PictureBroken)
			}
			if out.Len() <= api.MaxPicture {
				return out.Bytes(), nil
			}
		}
		whole = small
	}
	return nil, refusal(api.PictureBroken)
}

// scaled is the image over black, no side longer than asked for.
func scaled(whole image.Image, side int) image.Image {
	from := whole.Bounds()
	w, h := from.Dx(), from.Dy()
	if most := max(w, h); most > side {
		w, h = max(1, w*side/most), max(1, h*side/most)
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.Black), image.Point{}, draw.Src)
	draw.BiLinear.Scale(small, small.Bounds(), whole, from, draw.Over, nil)
	return small
}
