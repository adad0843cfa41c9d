package edit

import (
	"errors"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	check := func(name, raw, data string, enc Encoding, bom bool) {
		t.Helper()
		text, err := Decode([]byte(raw))
		if err != nil || string(text.Data) != data || text.Encoding != enc || text.BOM != bom {
			t.Errorf("%s: %+v, %v", name, text, err)
			return
		}
		if back, err := text.Encode(); err != nil || string(back) != raw {
			t.Errorf("%s: written back as %q, %v", name, back, err)
		}
	}
	check("empty", "", "", UTF8, false)
	check("plain", "a\r\né", "a\r\né", UTF8, false)
	check("mark", "\xef\xbb\xbfa", "a", UTF8, true)
	check("little endian", "\xff\xfea\x00=\xd8\x00\xde\n\x00", "a😀\n", UTF16LE, true)
	check("big endian", "\xfe\xff\x00a\xd8=\xde\x00", "a😀", UTF16BE, true)
	check("mark inside", "a\ufeffb", "a\ufeffb", UTF8, false)
}

func TestDecodeRefuses(t *testing.T) {
	check := func(name, raw string, want error, says string) {
		t.Helper()
		if _, err := Decode([]byte(raw)); !errors.Is(err, want) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want %v saying %q", name, err, want, says)
		}
	}
	check("NUL", "ab\x00", ErrBinary, "offset 2")
	check("UTF-16 without mark", "a\x00b\x00", ErrBinary, "without a byte order mark")
	check("Latin-1", "caf\xe9", ErrEncoding, "0xe9 at offset 3")
	check("UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", ErrEncoding, "UTF-32")
	check("odd", "\xff\xfea", ErrEncoding, "odd")
	check("lone surrogate", "\xff\xfe=\xd8a\x00", ErrEncoding, "surrogate at offset 2")
	check("NUL in UTF-16", "\xff\xfe\x00a\x00\x00", ErrBinary, "NUL")
	if _, err := Decode(make([]byte, MaxSize+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large: %v", err)
	}
	if _, err := Match(make([]byte, MaxSize+1), []Replace{{Old: "a", New: "b"}},
		Options{}); err == nil {
		t.Error("an edit of a text above the limit was planned")
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, text := range []Text{{Data: []byte("\xff")},
		{Data: []byte("\xed\xa0\x80"), Encoding: UTF16LE},
		{Data: []byte("a"), Encoding: "latin-1"}} {
		if out, err := text.Encode(); !errors.Is(err, ErrEncoding) {
			t.Errorf("%+v: %q, %v", text, out, err)
		}
	}
}

func TestEOL(t *testing.T) {
	for data, want := range map[string]string{"": "none", "a": "none", "a\n": "lf",
		"a\r\nb\r\n": "crlf", "a\rb": "cr", "a\nb\r\n": "mixed", "a\r\nb\r": "mixed"} {
		if got := EOL([]byte(data)); got != want {
			t.Errorf("EOL(%q) = %s, want %s", data, got, want)
		}
	}
}

func TestParseGuard(t *testing.T) {
	check := func(path, before, after string, ok bool) {
		t.Helper()
		if err := ParseGuard(path, []byte(before), []byte(after)); (err == nil) != ok {
			t.Errorf("%s, %q to %q: %v", path, before, after, err)
		}
	}
	check("a.go", "package a", "package a\nfunc", false)
	check("a.go", "package a\nfunc", "package", true)
	check("a.go", "package a", "package b", true)
	check(`C:\dir\a.JSON`, "{}", "{", false)
	check("a.json", "// c\n{}", "{", true)
	check("a.txt", "{}", "{", true)
}

func TestWholeKeepsEndings(t *testing.T) {
	base := []byte("a\r\nb\nc\r\n")
	p, err := Whole(base, []byte("a\nx\nb\nc\nd\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.Apply(base)), "a\r\nx\r\nb\nc\r\nd\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p, err = Whole(base, []byte("a\nb\nc\n"), Options{}); err != nil || !p.NoOp {
		t.Errorf("%+v, %v", p, err)
	}
}
