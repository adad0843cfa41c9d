package shell

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// registryVar is the environment variable that holds the address of a package registry. If it is
// set, the test uses that registry instead of its own server.
const registryVar = "AGENT_LSP_TEST_REGISTRY"

// TestPackagesAreInstalled downloads packages with go and npm through the proxy, in every sandbox
// that can reach it. The user may be asked only about the registry.
func TestPackagesAreInstalled(t *testing.T) {
	for _, s := range proxied(t) {
		for _, c := range []struct{ program, script, want string }{
			{
				"go", `export GOPATH="$TMPDIR/go" GOCACHE="$TMPDIR/gocache" GOFLAGS=-modcacherw \
GOSUMDB=off GOTOOLCHAIN=local GOPROXY=REGISTRY
printf 'module m\n\ngo 1.20\n\nrequire PACKAGE v1.0.0\n' > go.mod
go mod download 2>&1 && ls "$TMPDIR"/go/pkg/mod/cache/download/PACKAGE/@v/v1.0.0.zip | grep -c zip`,
				"1\n",
			},
			{
				"npm", `export npm_config_cache="$TMPDIR/npm" npm_config_registry=REGISTRY \
npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
echo '{"name": "m", "version": "1.0.0"}' > package.json
npm install --ignore-scripts --no-package-lock PACKAGE@1.0.0 >"$TMPDIR/log" 2>&1 ||
cat "$TMPDIR/log"
grep -c '"version": *"1.0.0"' node_modules/PACKAGE/package.json`, "1\n",
			},
		} {
			t.Run(string(s.Kind)+"/"+c.program, func(t *testing.T) {
				t.Parallel()
				installs(t, s, c.program, c.script, c.want)
			})
		}
	}
}

func installs(t *testing.T, s sandbox.Support, program, script, want string) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(err)
	}
	i := newInternet(t, "127.0.0.0/8", "")
	i.answer = func(context.Context, string) error { return nil }
	i.files = packages(t, i.port)
	registry, name := "http://site.test:"+i.port,
		map[string]string{"go": "example.test/tiny", "npm": "tiny"}[program]
	real, own := os.LookupEnv(registryVar + "_" + strings.ToUpper(program))
	if own {
		registry, name, i.real = real, os.Getenv(
			registryVar+"_PACKAGE_"+strings.ToUpper(program),
		), true
	}
	b := newBox(t, s)
	script = strings.NewReplacer("REGISTRY", registry, "PACKAGE", name).Replace(script)
	res, _ := i.in(b, Command{
		Script: script, Timeout: 5 * time.Minute,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.tmp},
	})
	if string(res.Head) != want {
		t.Errorf("got %q, want %q", res.Head, want)
	}
	if asked := i.questions(); asked != "site.test" && !own || asked == "" {
		t.Errorf("asked about %q", asked)
	}
}

// packages returns the files of a Go module registry and of an npm registry, by path.
func packages(t *testing.T, port string) map[string][]byte {
	t.Helper()
	const goMod = "module example.test/tiny\n"
	var module, pack bytes.Buffer
	z := zip.NewWriter(&module)
	for name, content := range map[string]string{"go.mod": goMod, "tiny.go": "package tiny\n"} {
		w, err := z.Create("example.test/tiny@v1.0.0/" + name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	manifest := []byte(`{"name": "tiny", "version": "1.0.0"}`)
	gz := gzip.NewWriter(&pack)
	archive := tar.NewWriter(gz)
	header := &tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(manifest))}
	if err := archive.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(manifest); err != nil {
		t.Fatal(err)
	}
	archive.Close()
	gz.Close()
	sum := sha1.Sum(pack.Bytes())
	const at = "/example.test/tiny/@v/"
	return map[string][]byte{
		at + "list":        []byte("v1.0.0\n"),
		at + "v1.0.0.info": []byte(`{"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}`),
		at + "v1.0.0.mod":  []byte(goMod),
		at + "v1.0.0.zip":  module.Bytes(),
		"/tiny": fmt.Appendf(
			nil,
			`{"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0":
{"name": "tiny", "version": "1.0.0", "dist": {"shasum": %q, "tarball": "http://site.test:%s/tiny.tgz"}}}}`,
			hex.EncodeToString(sum[:]),
			port,
		),
		"/tiny.tgz": pack.Bytes(),
	}
}
