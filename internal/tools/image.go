package tools

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // registers the format
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// Limits of images.
const (
	imageBytes  = 3_500_000  // maximum bytes sent to the model; base64 adds a third
	imageSide   = 2000       // pixels; larger images are scaled down
	imagePixels = 16_000_000 // larger images are not decoded
	jpegQuality = 85
	// decodeTime is the maximum duration of decoding, because a small JPEG can contain millions of
	// passes over all its pixels.
	decodeTime = 20 * time.Second
)

// sniffImage returns the media type of an image, determined from its first bytes, or "" if models
// do not accept the format.
func sniffImage(raw []byte) string {
	switch kind := http.DetectContentType(raw); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

func imageResult(name, uri, kind string, raw []byte) (*tool.Result, error) {
	note := ""
	cfg, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err == nil {
		note = fmt.Sprintf(", %d×%d", cfg.Width, cfg.Height)
	}
	if len(raw) > imageBytes || err == nil && max(cfg.Width, cfg.Height) > imageSide {
		if err != nil || cfg.Width*cfg.Height > imagePixels {
			return nil, fmt.Errorf("%s is too large an image (%s%s); make a smaller copy with a command and read the copy", name, plural(len(raw), "byte"), note)
		}
		small, smallKind, err := shrink(raw)
		if err != nil {
			return nil, fmt.Errorf("reading the image %s: %w", name, err)
		}
		raw, kind = small, smallKind
		note += ", shown smaller"
	}
	res := text("[Image %s: %s%s.]", name, kind, note)
	res.Content = []message.Block{{Type: message.Image, MimeType: kind, Data: raw}}
	res.Locations = []tool.Location{{URI: uri}}
	return res, nil
}

// timed is a reader that fails after a deadline, which ends the decoding of an image. Each Read
// returns only a few bytes, because a few kilobytes can take seconds to decode.
type timed struct {
	r     io.Reader
	until time.Time
}

var errSlowImage = fmt.Errorf("decoding it takes more than %v", decodeTime)

func (t *timed) Read(p []byte) (int, error) {
	if time.Now().After(t.until) {
		return 0, errSlowImage
	}
	return t.r.Read(p[:min(len(p), 256)])
}

// shrink scales an image down until it fits imageSide and imageBytes. It encodes the image as PNG
// or JPEG, whichever is smaller.
func shrink(raw []byte) ([]byte, string, error) {
	src, _, err := image.Decode(&timed{bytes.NewReader(raw), time.Now().Add(decodeTime)})
	if err != nil {
		return nil, "", err
	}
	for side := imageSide; ; side = side * 2 / 3 {
		img := scaled(src, side)
		var p, j bytes.Buffer
		if err := png.Encode(&p, img); err != nil {
			return nil, "", err
		}
		if err := jpeg.Encode(&j, img, &jpeg.Options{Quality: jpegQuality}); err != nil {
			return nil, "", err
		}
		switch {
		case p.Len() <= j.Len() && p.Len() <= imageBytes:
			return p.Bytes(), "image/png", nil
		case j.Len() <= imageBytes:
			return j.Bytes(), "image/jpeg", nil
		}
	}
}

// scaled returns src, scaled down if its width or height is more than side pixels. Each pixel is
// the mean of the pixels that it covers.
func scaled(src image.Image, side int) image.Image {
	b := src.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= side {
		return src
	}
	w, h := max(1, b.Dx()*side/long), max(1, b.Dy()*side/long)
	dst := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			dst.Set(x, y, mean(src, image.Rect(b.Min.X+x*b.Dx()/w, b.Min.Y+y*b.Dy()/h, b.Min.X+
				(x+1)*b.Dx()/w, b.Min.Y+(y+1)*b.Dy()/h)))
		}
	}
	return dst
}

func mean(src image.Image, r image.Rectangle) color.Color {
	var sum [4]uint64
	n := uint64(0)
	for y := r.Min.Y; y < max(r.Max.Y, r.Min.Y+1); y++ {
		for x := r.Min.X; x < max(r.Max.X, r.Min.X+1); x++ {
			cr, cg, cb, ca := src.At(x, y).RGBA()
			sum[0], sum[1], sum[2], sum[3] = sum[0]+uint64(cr), sum[1]+uint64(cg), sum[2]+
				uint64(cb), sum[3]+uint64(ca)
			n++
		}
	}
	return color.RGBA64{uint16(sum[0] / n), uint16(sum[1] / n), uint16(sum[2] / n),
		uint16(sum[3] / n)}
}
