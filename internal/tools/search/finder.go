package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
)

// finder searches for one literal. It uses bytes.IndexByte to find the literal's rarest byte (in
// upper and lower case if case does not matter), and rules out most of the positions by the second
// rarest byte. If the searched text contains many of both bytes, finder searches for the pair,
// eight positions at a time.
type finder struct {
	text     []byte // lower-case if fold is set
	fold     bool
	i, j     int  // offsets of the two rarest bytes, i < j unless the text has one byte
	rare     int  // offset of the rarest byte (i or j)
	low, up  byte // the rarest byte, and its upper case if that differs
	two      bool // low and up differ
	other    int  // offset of the second rarest byte (i or j)
	otherLow byte
	otherBit byte // 0x20 if the case of the second rarest does not matter
}

func newFinder(l literal) finder {
	f := finder{text: []byte(l.text), fold: l.fold}
	f.i, f.j, f.rare = rarest(f.text)
	f.other = f.i + f.j - f.rare
	f.low, f.otherLow = f.text[f.rare], f.text[f.other]
	f.up = f.low
	if f.fold && isLower(f.low) {
		f.up, f.two = f.low&^0x20, true
	}
	if f.fold && isLower(f.otherLow) {
		f.otherBit = 0x20
	}
	return f
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// index returns the offset of the first occurrence of the literal, or -1.
func (f *finder) index(text []byte) int {
	n := len(f.text)
	last := len(text) - n // the last possible offset
	low, up := -1, -1     // next position of each byte, not before the offset at
	if !f.two {
		up = len(text)
	}
	missed := 0
	for at := f.rare; at-f.rare <= last; at++ {
		if low < at {
			low = next(text, at, f.low)
		}
		if up < at {
			up = next(text, at, f.up)
		}
		at = min(low, up)
		p := at - f.rare
		if p > last {
			return -1
		}
		if text[p+f.other]|f.otherBit == f.otherLow && f.equal(text[p:p+n]) {
			return p
		}
		if missed++; missed > manyMisses+p/bytesPerMiss {
			if f.fold {
				return after(p+1, f.indexFold(text[p+1:]))
			}
			return after(p+1, bytes.Index(text[p+1:], f.text))
		}
	}
	return -1
}

// After manyMisses false hits, plus one for every bytesPerMiss bytes searched, finder assumes that
// the two bytes are not rare in this text.
const (
	manyMisses   = 64
	bytesPerMiss = 12
)

func next(text []byte, at int, c byte) int {
	if n := bytes.IndexByte(text[at:], c); n >= 0 {
		return at + n
	}
	return len(text)
}

// after adds the position at to an offset that counts from that position. It returns -1 for a
// negative offset.
func after(at, found int) int {
	if found < 0 {
		return -1
	}
	return at + found
}

func (f *finder) equal(text []byte) bool {
	if f.fold {
		return f.equalFold(text)
	}
	return bytes.Equal(text, f.text)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// indexFold compares eight positions at a time. Setting bit 0x20 makes letters lower-case and maps
// a few other bytes to the same value, so each hit is checked.
func (f *finder) indexFold(text []byte) int {
	n := len(f.text)
	want, want2 := uint64(f.text[f.i]|0x20)*ones, uint64(f.text[f.j]|0x20)*ones
	at := 0
	for last := len(text) - n - 8; at <= last; at += 8 {
		x := binary.LittleEndian.Uint64(text[at+f.i:]) | 0x20*ones
		y := binary.LittleEndian.Uint64(text[at+f.j:]) | 0x20*ones
		x, y = x^want, y^want2
		x |= y // a zero byte is a hit
		for hits := ^(x&^highs + 0x7f*ones | x) & highs; hits != 0; hits &= hits - 1 {
			if p := at + bits.TrailingZeros64(hits)/8; f.equalFold(text[p : p+n]) {
				return p
			}
		}
	}
	for ; at+n <= len(text); at++ {
		if f.equalFold(text[at : at+n]) {
			return at
		}
	}
	return -1
}

func (f *finder) equalFold(text []byte) bool {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != f.text[i] {
			return false
		}
	}
	return true
}

// common lists the bytes of source text, the most frequent first.
const common = " etaoinsrlcudpmhgfy_.b(),w\t/v=k\"x:0;1*-q[]2{}z<>j"

// capital is the rank of capital letters in common.
const capital = 34

// rarest returns the offsets of the two rarest bytes in order, and the offset of the rarest byte.
func rarest(text []byte) (i, j, rare int) {
	rank := func(c byte) int {
		if 'A' <= c && c <= 'Z' { // occurs only if the case matters
			return capital
		}
		if r := strings.IndexByte(common, c|0x20); r >= 0 {
			return r
		}
		return len(common)
	}
	rare, second := 0, -1
	for k := 1; k < len(text); k++ {
		switch {
		case rank(text[k]) > rank(text[rare]):
			rare, second = k, rare
		case second < 0 || rank(text[k]) > rank(text[second]):
			second = k
		}
	}
	if second < 0 {
		return 0, 0, 0
	}
	return min(rare, second), max(rare, second), rare
}

func isASCII(text []byte) bool {
	for len(text) >= 32 {
		a, b := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
		c, d := binary.LittleEndian.Uint64(text[16:]), binary.LittleEndian.Uint64(text[24:])
		if (a|b|c|d)&highs != 0 {
			return false
		}
		text = text[32:]
	}
	for len(text) >= 8 {
		if binary.LittleEndian.Uint64(text)&highs != 0 {
			return false
		}
		text = text[8:]
	}
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
