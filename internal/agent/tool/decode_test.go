package tool

import (
	"encoding/json"
	"strings"
	"testing"
)

type filled struct {
	embedded
	Path  string   `json:"path,omitempty"`
	Old   *string  `json:"old_string"`
	Line  int      `json:"line"`
	Wait  float64  `json:"wait"`
	All   bool     `json:"all"`
	Names []string `json:"names"`
	Loose any      `json:"loose"`
}

type embedded struct {
	Task string `json:"task"`
}

// Decode fills a struct from the already decoded object. The result is the same as that of
// json.Unmarshal, but the JSON is not parsed again.
func TestDecodeFillsLikeJSON(t *testing.T) {
	for in, bad := range map[string]bool{
		`{"task":"t","path":"p","old_string":"o","line":-3,"wait":1.5}`: false,
		`{"all":true,"names":["a",""]}`:                                 false,
		`{"PATH":"p","old_string":null,"names":null,"unknown":{}}`:      false,
		`{"line":9007199254740993}`:                                     false,
		`{"path":7}`:                                                    true,
		`{"path":{}}`:                                                   true,
		`{"line":1.5}`:                                                  true,
		`{"line":"1"}`:                                                  true,
		`{"all":"true"}`:                                                true,
		`{"names":"a"}`:                                                 true,
		`{"names":[1]}`:                                                 true,
	} {
		var want, got filled
		wantErr := json.Unmarshal([]byte(in), &want)
		object, err := decodeObject([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		err = (&Call{Args: []byte("not JSON"), Object: object}).Decode(&got)
		if (err != nil) != bad || (wantErr != nil) != bad {
			t.Errorf("%s: %v, encoding/json: %v", in, err, wantErr)
			continue
		}
		if bad {
			if !strings.HasPrefix(err.Error(), "reading the arguments: ") {
				t.Errorf("%s: %v", in, err)
			}
			continue
		}
		a, _ := json.Marshal(got)
		if b, _ := json.Marshal(want); string(a) != string(b) {
			t.Errorf("%s: %s, encoding/json: %s", in, a, b)
		}
	}
}

// If a call did not pass through the registry, the tool decodes its arguments itself.
func TestDecodeWithoutTheRegistry(t *testing.T) {
	c := &Call{Args: []byte(`{"path":"p"}`)}
	var got filled
	if err := c.Decode(&got); err != nil || got.Path != "p" || c.Text("path") != "p" {
		t.Errorf("%+v, %q, %v", got, c.Text("path"), err)
	}
	c.Args = []byte("[]")
	if err := c.Decode(&got); err == nil || c.Text("path") != "" {
		t.Error("an array has no arguments:", err)
	}
}
