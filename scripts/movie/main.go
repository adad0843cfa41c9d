// Command movie combines pictures into an animated GIF.
//
//	go run ./scripts/movie OUT.gif HUNDREDTHS FRAME.png [HUNDREDTHS FRAME.png ...]
//
// The number before each frame is the time for which the frame is shown, in hundredths of a second.
package main

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"os"
	"slices"
	"strconv"
)

func main() {
	if len(os.Args) < 4 || len(os.Args)%2 != 0 {
		fmt.Fprintln(os.Stderr, "usage: movie OUT.gif HUNDREDTHS FRAME.png ...")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "movie:", err)
		os.Exit(1)
	}
}

// write creates the animation from pairs of a time and a picture.
func write(out string, args []string) error {
	var pictures []image.Image
	var film gif.GIF
	for i := 0; i < len(args); i += 2 {
		time, err := strconv.Atoi(args[i])
		if err != nil {
			return err
		}
		picture, err := read(args[i+1])
		if err != nil {
			return err
		}
		pictures, film.Delay = append(pictures, picture), append(film.Delay, time)
	}
	colors := palette(pictures)
	for _, p := range pictures {
		frame := image.NewPaletted(p.Bounds(), colors)
		draw.Draw(frame, p.Bounds(), p, p.Bounds().Min, draw.Src)
		film.Image = append(film.Image, frame)
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := gif.EncodeAll(f, &film); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func read(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return png.Decode(f)
}

// palette returns the 256 most frequent colors. All frames use the same palette, so that unchanged
// areas do not flicker.
func palette(pictures []image.Image) color.Palette {
	count := map[color.RGBA]int{}
	for _, p := range pictures {
		for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y++ {
			for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x++ {
				count[color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)]++
			}
		}
	}
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return cmp.Compare(rank(a), rank(b))
	})
	var colors color.Palette
	for _, c := range all[:min(len(all), 256)] {
		colors = append(colors, c)
	}
	return colors
}

// rank orders colors with the same frequency, so that the result is reproducible.
func rank(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
