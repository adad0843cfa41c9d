package path

import "testing"

func TestWindowsPaths(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///c%3A/proj/a.txt": `C:\proj\a.txt`, "file:///C:/proj/a.txt": `C:\proj\a.txt`,
		"file:///c:/proj/%C3%A4.txt": `C:\proj\ä.txt`,
		"file://server/share/a":      `\\server\share\a`,
		"file://localhost/d:/x":      `D:\x`, "file:///c:": `C:\`, "file:///proj/a.txt": "error",
		"file:///c:/a%00": "error", "file:c:/x": "error", "file://": "error",
	} {
		got, err := pathFromURI(uri, true)
		if err != nil {
			got = "error"
		}
		equal(t, uri, got, want)
	}
	for path, want := range map[string]string{
		`C:\proj\a b.txt`:  "file:///c%3A/proj/a%20b.txt",
		`\\server\share\a`: "file://server/share/a", `D:\ü`: "file:///d%3A/%C3%BC",
	} {
		equal(t, path, uriFromPath(path, true), want)
	}
	equal(t, "drive case", pathKey(`c:\Proj\A.TXT`, true), pathKey(`C:/proj/a.txt`, true))
	for _, c := range []struct {
		dir, path string
		ok        bool
	}{{`C:\proj`, `c:\proj\a`, true},
		{`C:\proj`, `C:\project\a`, false}, {`C:\`, `c:\x`, true}, {`C:\proj`, `D:\proj\a`, false},
		{`C:\Proj`, `C:\proj`, true}} {
		_, ok := within(c.dir, c.path, true)
		equal(t, c.dir+" holds "+c.path, ok, c.ok)
	}
	equal(t, "no scheme in a drive", Scheme(`C:\x`), "")
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
