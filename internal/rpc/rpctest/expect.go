package rpctest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// answer [pattern] compares the result of the last request with a pattern. After send, it first
// waits for the response.
func cmdAnswer(r *runner, rest string) error {
	if err := r.await(); err != nil {
		return err
	}
	if r.answer.Error != nil {
		return fmt.Errorf("the daemon answered with an error: %w", r.answer.Error)
	}
	if diff := MatchJSON(rest, r.answer.Result); diff != "" {
		return fmt.Errorf("the answer differs: %s\nanswer: %s", diff, r.answer.Result)
	}
	r.last = r.answer
	return nil
}

// error CODE [regexp] checks that the last request returned an error with that code.
func cmdError(r *runner, rest string) error {
	if err := r.await(); err != nil {
		return err
	}
	code, text, _ := strings.Cut(rest, " ")
	if r.answer.Error == nil {
		return fmt.Errorf("wanted error %s, got the result %s", code, r.answer.Result)
	}
	if strconv.Itoa(r.answer.Error.Code) != code {
		return fmt.Errorf("wanted error %s, got %w", code, r.answer.Error)
	}
	if text != "" {
		if diff := Match("~"+text, r.answer.Error.Message); diff != "" {
			return errors.New(diff)
		}
	}
	return nil
}

func (r *runner) await() error {
	if r.answer != nil {
		return nil
	}
	var err error
	r.answer, err = r.ed.Answer(r.sent)
	return err
}

// expect METHOD [pattern] waits for a matching message after the last expected one, and skips other
// messages. It fails as soon as the message can no longer arrive.
func cmdExpect(r *runner, rest string) error { return r.expect(rest, false) }

// also METHOD [pattern] waits for a matching message anywhere after the last mark. Use it for
// messages whose order is not fixed.
func cmdAlso(r *runner, rest string) error {
	method, pattern, _ := strings.Cut(rest, " ")
	from, _ := strconv.Atoi(r.vars["mark"])
	m, _, err := r.ed.Next(from, method, strings.TrimSpace(pattern), false)
	if err == nil {
		r.last = m
	}
	return err
}

// await METHOD [pattern] is like expect, but for messages that are sent outside a turn, such as the
// end of a job.
func cmdAwait(r *runner, rest string) error { return r.expect(rest, true) }

func (r *runner) expect(rest string, patient bool) error {
	method, pattern, _ := strings.Cut(rest, " ")
	m, next, err := r.ed.Next(r.cursor, method, strings.TrimSpace(pattern), patient)
	if err != nil {
		return err
	}
	r.last, r.cursor = m, next
	return nil
}

// never METHOD [pattern] fails if a matching message has arrived since the last mark or the start.
func cmdNever(r *runner, rest string) error {
	method, pattern, _ := strings.Cut(rest, " ")
	from, _ := strconv.Atoi(r.vars["mark"])
	for _, m := range r.ed.Log(from) {
		if m.Method == method && MatchJSON(strings.TrimSpace(pattern), m.Params) == "" {
			return fmt.Errorf("this message should not have arrived: %s", m)
		}
	}
	return nil
}

// mark makes `never` check only later messages, and makes `expect` skip earlier ones.
func cmdMark(r *runner, _ string) error {
	r.cursor = len(r.ed.Log(0))
	r.vars["mark"] = strconv.Itoa(r.cursor)
	return nil
}

// capture NAME PATH stores a value from the last expected message or response in a variable.
// Example: capture hunk proposal.files.0.hunks.1.hunkId
func cmdCapture(r *runner, rest string) error {
	name, path, _ := strings.Cut(rest, " ")
	src := r.last
	if src == nil {
		src = r.answer
	}
	body := src.Params
	if src.isAnswer() {
		body = src.Result
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(x) {
				return fmt.Errorf("no element %s in %s", step, show(x))
			}
			v = x[i]
		default:
			return fmt.Errorf("nothing at %s of %s", path, body)
		}
	}
	if s, ok := v.(string); ok {
		r.vars[name] = s
	} else {
		r.vars[name] = show(v)
	}
	return nil
}

// cmp FILE SECTION|"text" compares a file on disk with the given text. cmpbuf compares the editor's
// buffer.
func cmdCmp(r *runner, rest string) error {
	file, what, _ := strings.Cut(rest, " ")
	got, err := os.ReadFile(filepath.Join(r.ws, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	return r.compare(file, got, what)
}

func cmdCmpBuffer(r *runner, rest string) error {
	file, what, _ := strings.Cut(rest, " ")
	b := r.ed.Buffer(r.uri(file))
	if b == nil {
		return fmt.Errorf("%s is not open", file)
	}
	return r.compare(file, []byte(b.Text), what)
}

func (r *runner) compare(file string, got []byte, what string) error {
	want, err := r.text(strings.TrimSpace(what))
	if err != nil {
		return err
	}
	if string(want) != string(got) {
		return fmt.Errorf("%s differs\ngot:\n%q\nwant:\n%q", file, got, want)
	}
	return nil
}

func cmdAbsent(r *runner, rest string) error {
	if _, err := os.Lstat(filepath.Join(r.ws, filepath.FromSlash(rest))); err == nil {
		return fmt.Errorf("%s exists", rest)
	}
	return nil
}

// grep FILE regexp searches a file in the script's temporary folder (home/…, ws/…).
func cmdGrep(r *runner, rest string) error {
	file, re, _ := strings.Cut(rest, " ")
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	if diff := Match("~"+strings.TrimSpace(re), string(data)); diff != "" {
		return errors.New(diff)
	}
	return nil
}
