package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/app"
)

// bundleLog is the maximum number of bytes that a bundle contains from the end of the log.
const bundleLog = 256 << 10

// bundle collects the information for a bug report, without secrets. It contains the title and the
// messages of a session only if the user named the session.
type bundle struct {
	p      *program
	redact *app.Redactor
	home   string
	parts  []bundlePart
}

type bundlePart struct {
	name string
	data []byte
}

// bundleCommand returns the command that writes a bundle for a bug report. It sends nothing over
// the network.
func (p *program) bundleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bundle FILE.tar.gz",
		Short: "collect information for a bug report, without secrets",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !strings.HasSuffix(args[0], ".tar.gz") {
				return errors.New("name one file that ends in .tar.gz")
			}
			return nil
		},
	}
	log := c.Flags().String("log", "",
		"add the end of this daemon log (the file from serve --log-file)")
	id := c.Flags().String("session", "",
		"add the messages of this session, without secrets (default: none)")
	c.Run = p.does(func(ctx context.Context, args []string) int {
		return p.bundle(ctx, args[0], *log, *id)
	})
	return c
}

func (p *program) bundle(ctx context.Context, file, log, id string) int {
	b := &bundle{p: p, redact: app.NewRedactor(p.env), home: app.Lookup(p.env, "HOME")}
	b.gather(ctx)
	if err := b.addLog(log); err != nil {
		return p.fail("bundle", err)
	}
	if err := b.addSession(id); err != nil {
		return p.fail("bundle", err)
	}
	if err := b.write(file); err != nil {
		return p.fail("bundle", err)
	}
	for _, part := range b.parts {
		fmt.Fprintf(p.stdout, "%8d %s\n", len(part.data), part.name)
	}
	fmt.Fprintf(p.stdout, "wrote %s; check its contents before you attach it to a report\n",
		file)
	return exitOK
}

// gather adds the files that every bundle contains.
func (b *bundle) gather(ctx context.Context) {
	b.add("version.txt", b.output(ctx, "version")+modules())
	b.add("doctor.txt", b.output(ctx, "doctor"))
	b.add("settings.txt", b.output(ctx, "doctor", "--config"))
	b.add("environment.txt", variables(b.p.env))
	b.add("sessions.txt", b.sessions())
}

// output runs a command of this program and returns everything it prints.
func (b *bundle) output(ctx context.Context, args ...string) string {
	var out bytes.Buffer
	p := &program{version: b.p.version, env: b.p.env, stdin: strings.NewReader(""),
		stdout: &out, stderr: &out}
	if code := p.execute(ctx, args); code != exitOK {
		fmt.Fprintf(&out, "exit code %d\n", code)
	}
	return out.String()
}

// modules lists the modules that are built into the program, with their versions.
func modules() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var s strings.Builder
	for _, m := range info.Deps {
		fmt.Fprintf(&s, "%s %s\n", m.Path, m.Version)
	}
	return s.String()
}

// variables lists the names of environment variables that may affect the program, without their
// values.
func variables(env []string) string {
	var names []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"AGENT_LSP_", "OPENAI_", "XDG_", "HTTP_PROXY",
			"HTTPS_PROXY", "NO_PROXY", "SSL_CERT_", "TERM", "LANG", "SHELL"} {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name+"\n")
				break
			}
		}
	}
	sort.Strings(names)
	return strings.Join(names, "")
}

// sessions lists the stored sessions of every workspace. It omits the titles of the sessions and
// the names of the workspaces, because the user chose them.
func (b *bundle) sessions() string {
	dirs, err := os.ReadDir(filepath.Join(app.StateDir(b.p.env), "sessions"))
	if err != nil {
		return "no sessions are stored\n"
	}
	var s strings.Builder
	for _, d := range dirs {
		name := d.Name()
		fmt.Fprintf(&s, "workspace %s\n", name[strings.LastIndexByte(name, '-')+1:])
		library := session.Open(filepath.Join(app.StateDir(b.p.env), "sessions", name))
		for _, archived := range []bool{false, true} {
			b.listInto(&s, library, archived)
		}
	}
	return s.String()
}

// maxBundled is the maximum number of sessions, and of archived sessions, that a bundle lists for
// one workspace.
const maxBundled = 100

func (b *bundle) listInto(s *strings.Builder, library *session.Library, archived bool) {
	entries, _, err := library.List(session.Query{Archived: archived, Limit: maxBundled})
	if err != nil {
		fmt.Fprintln(s, err)
	}
	for _, e := range entries {
		fmt.Fprintf(s, "  %s %s %s, %d bytes, %d damaged lines", e.ID,
			e.UpdatedAt.UTC().Format(time.RFC3339), messageCount(e.Messages), e.Bytes, e.Damaged)
		if archived {
			s.WriteString(", archived")
		}
		s.WriteByte('\n')
	}
}

// addLog adds the end of the daemon's log. It removes secrets before it truncates the log, because
// a secret that is cut in half is not recognized.
func (b *bundle) addLog(path string) error {
	if path == "" {
		return nil
	}
	data, err := lastLines(path, 2*bundleLog)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	b.add("log.txt", string(data))
	log := &b.parts[len(b.parts)-1]
	log.data = log.data[max(0, len(log.data)-bundleLog):]
	return nil
}

// lastLines reads the complete lines among the last n bytes of a file.
func lastLines(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	cut := st.Size() > n
	if cut {
		if _, err := f.Seek(-n, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, n))
	if cut {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data, err
}

// addSession adds the messages of a session that the user named.
func (b *bundle) addSession(id string) error {
	if id == "" {
		return nil
	}
	library, err := b.p.library("")
	if err != nil {
		return err
	}
	defer library.Close()
	text, err := library.Export(id, "json")
	if err != nil {
		return err
	}
	b.add("session.json", text)
	return nil
}

// add adds a file to the bundle. It removes secrets and replaces the home folder with ~.
func (b *bundle) add(name, text string) {
	text = b.redact.Text(text)
	if len(b.home) > 1 {
		text = strings.ReplaceAll(text, b.home, "~")
	}
	b.parts = append(b.parts, bundlePart{name, []byte(text)})
}

// write writes the bundle so that only its owner can read it. It does not overwrite an existing
// file.
func (b *bundle) write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("writing the bundle: %w", cerr)
		}
	}()
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, part := range b.parts {
		h := &tar.Header{Name: "agent-lsp-bundle/" + part.name, Mode: 0o600,
			Size: int64(len(part.data)), ModTime: time.Now()}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
		if _, err := w.Write(part.data); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	return z.Close()
}
