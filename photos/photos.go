// Package photos makes dish pictures of what staff upload: bytes in, two small square JPEGs out.
// It must not know HTTP, the database or where the bytes come from. It promises that nothing of the upload but its pixels comes out: no
// metadata, no place, no name; and that no upload can take more than a bounded time and memory.
package photos

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	_ "image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

const (
	// MaxBytes is how large an upload may be.
	MaxBytes = 8 << 20

	maxPixels    = 50_000_000 // of the upload: 200 MB in memory at most, whatever its few bytes claim
	minSide      = 256        // less would be blown up
	smallSide    = 256
	largeSide    = 640
	smallBytes   = 12 << 10 // ux.md section 13
	largeBytes   = 40 << 10
	bestQuality  = 86
	worstQuality = 30
)

// What is wrong with an upload.
var (
	ErrTooLarge = errors.New("photos: larger than 8 MB")
	ErrNotPhoto = errors.New("photos: no JPEG, PNG or WebP picture")
	ErrTooSmall = errors.New("photos: fewer than 256 pixels each way")
	ErrTooMany  = errors.New("photos: more than 50 million pixels")
)

// Photo is a dish's picture in both sizes, named by its bytes.
type Photo struct {
	Hash         string // 32 hexadecimal digits
	Small, Large []byte // JPEG, 256 × 256 and 640 × 640
}

// Make turns an upload the right way up, cuts the square around the focus (per cent of width and height) and writes both sizes.
// What the upload is, is told by its bytes. Errors: the ones above.
func Make(upload []byte, focusX, focusY int) (Photo, error) {
	if len(upload) > MaxBytes {
		return Photo{}, ErrTooLarge
	}
	size, kind, err := image.DecodeConfig(bytes.NewReader(upload))
	switch {
	case err != nil || kind != "jpeg" && kind != "png" && kind != "webp":
		return Photo{}, ErrNotPhoto
	case size.Width < minSide || size.Height < minSide:
		return Photo{}, ErrTooSmall
	case size.Width > maxPixels/size.Height:
		return Photo{}, ErrTooMany
	}
	picture, _, err := image.Decode(bytes.NewReader(upload))
	if err != nil {
		return Photo{}, ErrNotPhoto
	}
	turned := orientation(upload, kind)
	square := cut(picture.Bounds(), turned, focusX, focusY)
	large := turn(scale(picture, square, largeSide), turned)
	var p Photo
	if p.Large, err = encode(large, largeBytes); err != nil {
		return Photo{}, err
	}
	if p.Small, err = encode(scale(large, large.Bounds(), smallSide), smallBytes); err != nil {
		return Photo{}, err
	}
	sum := sha256.Sum256(append(append([]byte{}, p.Large...), p.Small...))
	p.Hash = hex.EncodeToString(sum[:16])
	return p, nil
}

// cut is the largest square of the stored picture around the focus, which is given in the picture as it is seen.
func cut(b image.Rectangle, turned, focusX, focusY int) image.Rectangle {
	x, y := min(max(focusX, 0), 100), min(max(focusY, 0), 100)
	switch turned { // back from what is seen to what is stored
	case 2:
		x = 100 - x
	case 3:
		x, y = 100-x, 100-y
	case 4:
		y = 100 - y
	case 5:
		x, y = y, x
	case 6:
		x, y = y, 100-x
	case 7:
		x, y = 100-y, 100-x
	case 8:
		x, y = 100-y, x
	}
	side := min(b.Dx(), b.Dy())
	left := min(max(b.Dx()*x/100-side/2, 0), b.Dx()-side)
	top := min(max(b.Dy()*y/100-side/2, 0), b.Dy()-side)
	return image.Rect(left, top, left+side, top+side).Add(b.Min)
}

// scale draws a part of a picture at a size, on white: a transparent dish must not become a black one.
func scale(picture image.Image, part image.Rectangle, side int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(out, out.Bounds(), picture, part, draw.Over, nil)
	return out
}

// turn applies an EXIF orientation to a square picture.
func turn(in *image.RGBA, turned int) *image.RGBA {
	if turned < 2 || turned > 8 {
		return in
	}
	n := in.Bounds().Dx()
	out := image.NewRGBA(in.Bounds())
	for y := range n {
		for x := range n {
			a, b := x, y // where the pixel that is seen at x, y is stored
			switch turned {
			case 2:
				a = n - 1 - x
			case 3:
				a, b = n-1-x, n-1-y
			case 4:
				b = n - 1 - y
			case 5:
				a, b = y, x
			case 6:
				a, b = y, n-1-x
			case 7:
				a, b = n-1-y, n-1-x
			case 8:
				a, b = n-1-y, x
			}
			out.SetRGBA(x, y, in.RGBAAt(a, b))
		}
	}
	return out
}

// encode writes a JPEG of at most so many bytes, as good as it can be.
func encode(picture image.Image, most int) ([]byte, error) {
	for quality := bestQuality; ; quality -= 8 {
		var out bytes.Buffer
		if err := jpeg.Encode(&out, picture, &jpeg.Options{Quality: max(quality, 5)}); err != nil {
			return nil, fmt.Errorf("photos: write: %w", err)
		}
		if out.Len() <= most || quality < worstQuality {
			return out.Bytes(), nil
		}
	}
}

// orientation reads how a JPEG or WebP says it is to be turned, 1 to 8; 1 where it says nothing that can be read.
func orientation(upload []byte, kind string) int {
	switch kind {
	case "jpeg":
		for at := 2; at+4 <= len(upload) && upload[at] == 0xFF && upload[at+1] != 0xDA; {
			length := int(binary.BigEndian.Uint16(upload[at+2:]))
			end := at + 2 + length
			if length < 2 || end > len(upload) {
				return 1
			}
			if body := upload[at+4 : end]; upload[at+1] == 0xE1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
				return tiffOrientation(body[6:])
			}
			at = end
		}
	case "webp":
		for at := 12; at+8 <= len(upload); {
			length := int(binary.LittleEndian.Uint32(upload[at+4:]))
			end := at + 8 + length
			if length < 0 || end > len(upload) {
				return 1
			}
			if string(upload[at:at+4]) == "EXIF" {
				return tiffOrientation(bytes.TrimPrefix(upload[at+8:end], []byte("Exif\x00\x00")))
			}
			at = end + length%2
		}
	}
	return 1
}

// tiffOrientation reads tag 0x0112 of the first directory.
func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int(order.Uint32(tiff[4:]))
	if at < 8 || at > len(tiff)-2 {
		return 1
	}
	for n := int(order.Uint16(tiff[at:])); n > 0; n-- {
		entry := at + 2 + (n-1)*12
		if entry+12 > len(tiff) {
			continue
		}
		if order.Uint16(tiff[entry:]) == 0x0112 {
			if turned := int(order.Uint16(tiff[entry+8:])); turned >= 1 && turned <= 8 {
				return turned
			}
		}
	}
	return 1
}
