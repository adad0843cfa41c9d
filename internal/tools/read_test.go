package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

func TestRead(t *testing.T) {
	h := newHarness(t).files("a.txt: one\ntwo\nthree\n", "crlf: one\r\ntwo\r\n", "cr: one\rtwo\r",
		"noend: one\ntwo", "empty: ", "bin: a\x00b", "latin: caf\xe9\n", "bom: \ufeffone\n",
		"utf16: \xff\xfeo\x00k\x00\n\x00",
		"long: "+strings.Repeat("é", 3000)+"\nend\n", "many: "+numbered(2500), "wide: "+
			strings.Repeat(strings.Repeat("x", 100)+"\n", 1000), "dir/x: y", "conf.yaml: a",
		"open.txt: disk\n")
	h.open("open.txt", "buffer\n")
	h.open("same.txt", "")
	for _, c := range []struct {
		name string
		args args
		want []string
	}{
		{"whole", args{"path": "a.txt"}, []string{"1\tone\n2\ttwo\n3\tthree", "!["}},
		{"part", args{"path": "a.txt", "offset": 2, "limit": 1},
			[]string{"2\ttwo\n[Lines 2-2 of 3. Use offset=3 to continue.]", "!one"}},
		{"from the end", args{"path": "a.txt", "offset": -1},
			[]string{"3\tthree\n[Lines 3-3 of 3: the end of the file.]"}},
		{"beyond", args{"path": "a.txt", "offset": 9},
			[]string{"[Offset 9 is beyond the end: the file has 3 lines.]"}},
		{"CRLF", args{"path": "crlf"}, []string{"1\tone\n2\ttwo", "!\r"}},
		{"CR", args{"path": "cr"}, []string{"1\tone\n2\ttwo", "!\r"}},
		{"no line break at the end", args{"path": "noend"},
			[]string{"2\ttwo\n[No line break at the end of the file.]"}},
		{"empty", args{"path": "empty"}, []string{"[The file is empty.]"}},
		{"binary", args{"path": "bin"},
			[]string{"ERROR: bin is a binary file (3 bytes)", "use bash"}},
		{"another encoding", args{"path": "latin"}, []string{"not valid UTF-8", "caf\ufffd"}},
		{"byte order mark", args{"path": "bom"}, []string{"1\tone"}},
		{"UTF-16", args{"path": "utf16"}, []string{"1\tok"}},
		{"long line", args{"path": "long"}, []string{"é... [line cut]\n2\tend", "!\ufffd"}},
		{"many lines", args{"path": "many"},
			[]string{"2000\tline 2000\n[Lines 1-2000 of 2500. Use offset=2001 to continue.]"}},
		{"many bytes", args{"path": "wide"}, []string{" of 1000. Use offset="}},
		{"unsaved", args{"path": "open.txt"},
			[]string{"[source: buffer (unsaved)]\n", "1\tbuffer", "!1\tdisk"}},
		{"folder", args{"path": "dir"}, []string{"dir/ (1 entry)\nx"}},
		{"missing", args{"path": "conf.yml"},
			[]string{"ERROR: conf.yml does not exist. Did you mean conf.yaml?"}},
		{"missing without a like", args{"path": "zebra"},
			[]string{"ERROR: zebra does not exist. Use glob"}},
		{"outside", args{"path": "/etc/passwd"}, []string{"ERROR: ", "outside"}},
		{"no path", args{}, []string{"ERROR: no path"}},
		{"several", args{"paths": []string{"a.txt", "none", "noend"}},
			[]string{"== a.txt ==\n1\tone", "== none ==\nnone does not exist",
				"== noend ==\n1\tone"}},
		{"several, none there", args{"paths": []string{"x1", "x2"}}, []string{"ERROR: "}},
		{"too many", args{"paths": make([]string, 30)}, []string{"ERROR: 30 files"}},
	} {
		t.Run(c.name, func(t *testing.T) { h.t = t; want(t, h.run("read", c.args), c.want...) })
	}
}

func TestReadImage(t *testing.T) {
	h := newHarness(t)
	write := func(name string, w, ht int) {
		img := image.NewNRGBA(image.Rect(0, 0, w, ht))
		for i := range img.Pix {
			img.Pix[i] = byte(i * i >> 7)
		}
		img.Set(0, 0, color.Black)
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.root, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("small.png", 20, 10)
	write("large.png", 2600, 130)
	res, err := h.result("read", args{"path": "small.png"})
	if err != nil || len(res.Content) != 1 || res.Content[0].Type != message.Image ||
		res.Content[0].MimeType != "image/png" {
		t.Fatalf("small: %v %v", res, err)
	}
	want(t, res.Text, "[Image small.png: image/png, 20×10.]")
	res, err = h.result("read", args{"path": "large.png"})
	if err != nil {
		t.Fatal(err)
	}
	want(t, res.Text, "2600×130, shown smaller")
	cfg, _, err := image.DecodeConfig(bytes.NewReader(res.Content[0].Data))
	if err != nil || cfg.Width != 2000 || cfg.Height != 100 {
		t.Errorf("made smaller: %v %v", cfg, err)
	}
}

// An image whose decoding takes too long is refused, because a small JPEG can contain millions of
// passes over its pixels.
func TestDecodingHasATimeLimit(t *testing.T) {
	raw := []byte{0xFF, 0xD8, 0xFF, 0xDB, 0, 67} // start, one table of quantization
	raw = append(raw, make([]byte, 65)...)
	raw = append(raw, 0xFF, 0xC2, 0, 11, 8, 15, 160, 15, 160, 1, 1, 0x11, 0) // 4000×4000
	raw = append(raw, 0xFF, 0xC4, 0, 20, 0x10, 1)
	raw = append(append(raw, make([]byte, 15)...), 0xE0) // one code: 2¹⁴ empty blocks
	for range 100_000 {
		raw = append(raw, 0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0) // one pass
		raw = append(raw, make([]byte, 32)...)
	}
	_, _, err := image.Decode(&timed{bytes.NewReader(raw), time.Now().Add(2 * time.Second)})
	if !errors.Is(err, errSlowImage) {
		t.Errorf("got %v", err)
	}
}

// bigFile writes lines of the form "line N" until size is reached. It returns the number of lines.
func bigFile(t testing.TB, path string, size int) int {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	var b bytes.Buffer
	for written := 0; written < size; written += b.Len() {
		b.Reset()
		for b.Len() < 1<<20 {
			n++
			fmt.Fprintf(&b, "line %d of a file that is far larger than what is read of it at once\n", n)
		}
		if _, err := f.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// Reading part of a 200 MB file uses little memory.
func TestReadLargeFile(t *testing.T) {
	h := newHarness(t)
	lines := bigFile(t, filepath.Join(h.root, "big.log"), 200<<20)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := h.run("read", args{"path": "big.log", "offset": 1_000_000, "limit": 101})
	runtime.ReadMemStats(&after)
	want(t, got, "1000000\tline 1000000 of", "1000100\tline 1000100 of",
		fmt.Sprintf("[Lines 1000000-1000100 of %d. Use offset=1000101 to continue.]", lines))
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("allocated %d bytes", n)
	}
	want(t, h.run("read", args{"path": "big.log", "offset": lines}),
		fmt.Sprintf("[Lines %d-%d of %d: the end", lines, lines, lines))
	want(t, h.run("read", args{"path": "big.log", "offset": lines + 1}), "beyond the end")
	want(t, h.run("read", args{"path": "big.log", "offset": -5}), "ERROR: ", "tail")
}

// Reading a file as a stream returns the same text as reading it completely, wherever the buffers
// end.
func TestStreamAgrees(t *testing.T) {
	for _, tc := range []string{
		numbered(100), "a", "a\n", "a\nb", "\n\n\n", "x\r\ny\r\n",
		strings.Repeat("long ", 100_000) + "\nshort\n", strings.Repeat("z", 600_000),
		strings.Repeat("12345678\n", 60_000), strings.Repeat(strings.Repeat("é", 700)+"\n", 400),
	} {
		for _, a := range []readArgs{{}, {Offset: 2}, {Offset: 3, Limit: 2}, {Offset: 59_999},
			{Offset: 1_000_000}} {
			whole := newView(a, readBytes)
			whole.all([]byte(tc))
			streamed, err := streamView(context.Background(), strings.NewReader(tc), int64(len(tc)),
				"f", a, readBytes)
			if err != nil {
				t.Fatal(err)
			}
			if w, s := whole.result(nil), streamed.result(nil); w != s {
				t.Errorf("%.20q %+v: streamed\n%.300s\nwhole\n%.300s", tc, a, s, w)
			}
		}
	}
}

// If a file is deleted or truncated while it is being read, the result is the text up to that
// point, or an error.
func TestReadVanishing(t *testing.T) {
	h := newHarness(t)
	path := filepath.Join(h.root, "f")
	bigFile(t, path, 4<<20)
	ref, err := h.ws.Resolve(h.root, "f")
	if err != nil {
		t.Fatal(err)
	}
	f, info, err := h.ws.OpenDisk(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	v, err := streamView(context.Background(), f, info.Size(), "f", readArgs{Offset: 1}, readBytes)
	if err != nil || v.first != 1 || v.total != 2 {
		t.Errorf("%+v %v", v, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := streamView(ctx, strings.NewReader("x"), 1, "f", readArgs{}, 100); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A session can read its own stored outputs, those of the session to which it belongs as a
// sub-agent, and those of the sessions from which it was forked, but no others.
func TestReadSpill(t *testing.T) {
	spill := t.TempDir()
	h := newHarness(t, func(d *Deps) { d.SpillDir = spill })
	file := func(session string) string { return filepath.Join(spill, session, "out.txt") }
	for _, session := range []string{"", "s1", "s2", "s3"} {
		if err := os.MkdirAll(filepath.Dir(file(session)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file(session), []byte("one\nneedle\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := file("s1")
	for link, target := range map[string]string{"link": "/etc/passwd", "to": file("s3")} {
		if err := os.Symlink(target, filepath.Join(spill, "s1", link)); err != nil {
			t.Fatal(err)
		}
	}
	want(t, h.run("read", args{"path": path}), "1\tone\n2\tneedle")
	want(t, h.run("grep", args{"path": path, "pattern": "needle"}), "2:needle")
	for _, other := range []string{file(""), file("s2"), file("s3"), filepath.Join(spill, "s3"),
		filepath.Join(spill, "s1", "link"), filepath.Join(spill, "s1", "to"),
		filepath.Join(spill, "s1", "..", "s3", "out.txt")} {
		want(t, h.run("read", args{"path": other}), "ERROR: ", "outside")
		want(t, h.run("grep", args{"path": other, "pattern": "needle"}), "ERROR: ", "outside")
		want(t, h.run("glob", args{"path": filepath.Dir(file("s3")), "pattern": "*"}), "ERROR: ",
			"outside")
	}
	want(t, h.run("edit", args{"path": path, "old_string": "one", "new_string": "two"}), "ERROR: ",
		"outside")
	h.session(func(s *Session) {
		s.ID, s.Owner = "s1/helper-1", "s1"
		s.Forked = func() []string { return []string{"s2", "..", ""} }
	})
	for _, own := range []string{file("s1"), file("s2")} {
		want(t, h.run("read", args{"path": own}), "1\tone\n2\tneedle")
	}
	want(t, h.run("read", args{"path": file("s3")}), "ERROR: ", "outside")
}
