package photos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"
)

var (
	red, green = color.RGBA{220, 20, 20, 255}, color.RGBA{20, 180, 20, 255}
	blue, sand = color.RGBA{20, 20, 220, 255}, color.RGBA{220, 200, 120, 255}
)

// quarters is a picture whose four quarters differ: red green / blue sand.
func quarters(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, [2][2]color.RGBA{{red, green}, {blue, sand}}[2*y/h][2*x/w])
		}
	}
	return m
}

func asJPEG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withExif puts an APP1 with an orientation, and a place nobody should learn, behind a JPEG's start.
func withExif(plain []byte, turned uint16) []byte {
	tiff := []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00")
	tiff = binary.LittleEndian.AppendUint16(tiff, turned)
	tiff = append(tiff, "\x00\x00\x00\x00\x00\x00SECRET PLACE"...)
	body := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{0xFF, 0xD8, 0xFF, 0xE1}, binary.BigEndian.AppendUint16(nil, uint16(len(body)+2))...)
	return append(append(out, body...), plain[2:]...)
}

func decode(t *testing.T, b []byte, side int) image.Image {
	t.Helper()
	m, kind, err := image.Decode(bytes.NewReader(b))
	if err != nil || kind != "jpeg" || m.Bounds().Dx() != side || m.Bounds().Dy() != side {
		t.Fatalf("%s of %v, %v", kind, m.Bounds(), err)
	}
	return m
}

func near(a, b color.Color) bool {
	r, g, bl, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	off := func(x, y uint32) bool { d := int(x>>8) - int(y>>8); return d < -30 || d > 30 }
	return !off(r, r2) && !off(g, g2) && !off(bl, b2)
}

// ux.md section 3: turned as EXIF says, metadata gone, both sizes within their bytes, named by content.
func TestOrientation(t *testing.T) {
	plain := asJPEG(t, quarters(600, 600))
	// What is seen top left, top right, bottom left, bottom right.
	for turned, want := range map[uint16][4]color.RGBA{
		1: {red, green, blue, sand}, 2: {green, red, sand, blue}, 3: {sand, blue, green, red}, 4: {blue, sand, red, green},
		5: {red, blue, green, sand}, 6: {blue, red, sand, green}, 7: {sand, green, blue, red}, 8: {green, sand, red, blue},
	} {
		p, err := Make(withExif(plain, turned), 50, 50)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(p.Large, []byte("SECRET")) || bytes.Contains(p.Small, []byte("SECRET")) || bytes.Contains(p.Large, []byte("Exif")) {
			t.Error("metadata came through")
		}
		m := decode(t, p.Small, 256)
		decode(t, p.Large, 640)
		for n, at := range []image.Point{{40, 40}, {216, 40}, {40, 216}, {216, 216}} {
			if !near(m.At(at.X, at.Y), want[n]) {
				t.Errorf("orientation %d: corner %d is %v, want %v", turned, n, m.At(at.X, at.Y), want[n])
			}
		}
	}
}

func TestFocusAndSizes(t *testing.T) {
	wide := quarters(1200, 400)
	left, err := Make(asJPEG(t, wide), 0, 50)
	if err != nil {
		t.Fatal(err)
	}
	right, err := Make(asJPEG(t, wide), 100, 50)
	if err != nil {
		t.Fatal(err)
	}
	if m := decode(t, left.Small, 256); !near(m.At(200, 40), red) {
		t.Errorf("focus left: %v", m.At(200, 40))
	}
	if m := decode(t, right.Small, 256); !near(m.At(40, 40), green) {
		t.Errorf("focus right: %v", m.At(40, 40))
	}
	again, err := Make(asJPEG(t, wide), 0, 50)
	if err != nil || again.Hash != left.Hash || left.Hash == right.Hash || len(left.Hash) != 32 {
		t.Errorf("named %s and %s, then %s", left.Hash, right.Hash, again.Hash)
	}
	// Turned on its side, the focus is where people see it.
	if p, err := Make(withExif(asJPEG(t, wide), 6), 50, 0); err != nil || !near(decode(t, p.Small, 256).At(40, 200), blue) {
		t.Errorf("focus of a turned picture, %v", err)
	}

	// Noise is the hardest picture there is.
	noise, dice := image.NewRGBA(image.Rect(0, 0, 900, 900)), rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(dice.Uint32())
	}
	var b bytes.Buffer
	if err := png.Encode(&b, noise); err != nil {
		t.Fatal(err)
	}
	p, err := Make(b.Bytes(), 50, 50)
	if err != nil || len(p.Small) > 24<<10 || len(p.Large) > 120<<10 {
		t.Errorf("noise: %d and %d bytes, %v", len(p.Small), len(p.Large), err)
	}
	if len(left.Small) > smallBytes || len(left.Large) > largeBytes {
		t.Errorf("%d and %d bytes", len(left.Small), len(left.Large))
	}
}

func TestWhatIsNoPhoto(t *testing.T) {
	var moving bytes.Buffer
	if err := gif.Encode(&moving, quarters(300, 300), nil); err != nil {
		t.Fatal(err)
	}
	huge := asJPEG(t, quarters(300, 300))
	for i := range len(huge) - 9 { // SOF0: claim 65,000 × 65,000
		if huge[i] == 0xFF && huge[i+1] == 0xC0 {
			binary.BigEndian.PutUint16(huge[i+5:], 65000)
			binary.BigEndian.PutUint16(huge[i+7:], 65000)
		}
	}
	whole := asJPEG(t, quarters(600, 600))
	for name, c := range map[string]struct {
		upload []byte
		want   error
	}{
		"nothing": {nil, ErrNotPhoto}, "a page": {[]byte("<svg onload=alert(1)>"), ErrNotPhoto}, "a gif": {moving.Bytes(), ErrNotPhoto}, "half a photo": {whole[:200], ErrNotPhoto},
		"tiny": {asJPEG(t, quarters(255, 600)), ErrTooSmall}, "a bomb": {huge, ErrTooMany}, "too large": {make([]byte, MaxBytes+1), ErrTooLarge},
	} {
		if _, err := Make(c.upload, 50, 50); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func FuzzMake(f *testing.F) {
	f.Add([]byte("II*\x00\x08\x00\x00\x00\xff\xff\x12\x01"), true)
	f.Fuzz(func(t *testing.T, bytes []byte, exif bool) {
		if exif {
			tiffOrientation(bytes)
			orientation(append([]byte{0xFF, 0xD8}, bytes...), "jpeg")
			orientation(append([]byte("RIFF0000WEBP"), bytes...), "webp")
			return
		}
		_, _ = Make(bytes, 50, 50)
	})
}
