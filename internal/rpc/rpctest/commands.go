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

// commands lists the script commands by name. Each line of a script is a command with its
// arguments.
var commands map[string]func(r *runner, rest string) error

func init() {
	commands = map[string]func(*runner, string) error{
		"raw-start":  func(*runner, string) error { return nil },
		"initialize": func(r *runner, _ string) error { return r.initialize() },
		"open":       cmdOpen, "edit": cmdEdit, "save": cmdSave, "close": cmdClose,
		"write":  cmdWrite,
		"remove": cmdRemove,
		"prompt": cmdPrompt, "steer": cmdSteer, "abort": cmdAbort, "wait": cmdWait, "done": cmdDone,
		"request": cmdRequest, "send": cmdSend, "notify": cmdNotify, "raw": cmdRaw,
		"answer": cmdAnswer, "error": cmdError,
		"expect": cmdExpect, "also": cmdAlso, "await": cmdAwait, "never": cmdNever, "mark": cmdMark,
		"reply": cmdReply, "reply-error": cmdReplyError, "auto": cmdAuto, "once": cmdOnce,
		"behave": cmdBehave, "release": cmdRelease,
		"capture": cmdCapture, "set": cmdSet,
		"cmp": cmdCmp, "cmpbuf": cmdCmpBuffer, "absent": cmdAbsent, "grep": cmdGrep,
		"fill": cmdFill, "room": cmdRoom, "readonly": cmdReadOnly, "restart": cmdRestart,
		"other": cmdOther, "kill": cmdKill, "hangup": cmdHangup,
	}
}

// command runs one line.
func (r *runner) command(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	f := commands[name]
	if f == nil {
		return fmt.Errorf("no such command: %s", name)
	}
	return f(r, strings.TrimSpace(r.expand(rest)))
}

func (r *runner) uri(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return URIOf(filepath.Join(r.ws, filepath.FromSlash(name)))
}

// open FILE [section] opens a file in the editor. The buffer contains the text on disk, or the text
// of a want/ section, so that it is unsaved from the start.
func cmdOpen(r *runner, rest string) error {
	f := strings.Fields(rest)
	uri := r.uri(f[0])
	text, err := []byte(nil), error(nil)
	if len(f) > 1 {
		data, ok := r.script.section(wantPrefix + f[1])
		if !ok {
			return fmt.Errorf("no section %s%s", wantPrefix, f[1])
		}
		text = data
	} else if text, err = os.ReadFile(pathOf(uri)); err != nil {
		return err
	}
	return r.ed.Open(uri, strings.TrimPrefix(filepath.Ext(f[0]), "."), string(text))
}

// edit FILE L:C-L:C "text" replaces a range in a document. edit FILE end "text" inserts text at the
// end.
func cmdEdit(r *runner, rest string) error {
	file, rest, _ := strings.Cut(rest, " ")
	where, quoted, _ := strings.Cut(rest, " ")
	text, err := strconv.Unquote(strings.TrimSpace(quoted))
	if err != nil {
		return fmt.Errorf("text %s: %w", quoted, err)
	}
	uri := r.uri(file)
	rng, err := r.parseRange(uri, where)
	if err != nil {
		return err
	}
	return r.ed.Edit(uri, TextEdit{rng, text})
}

func (r *runner) parseRange(uri, s string) (Range, error) {
	if s == "end" {
		b := r.ed.Buffer(uri)
		if b == nil {
			return Range{}, fmt.Errorf("%s is not open", uri)
		}
		p := b.PositionAt(len(b.Text))
		return Range{p, p}, nil
	}
	var rg Range
	_, err := fmt.Sscanf(s, "%d:%d-%d:%d", &rg.Start.Line, &rg.Start.Character, &rg.End.Line,
		&rg.End.Character)
	return rg, err
}

func cmdSave(r *runner, rest string) error  { return r.ed.Save(r.uri(rest)) }
func cmdClose(r *runner, rest string) error { return r.ed.Close(r.uri(rest)) }

// write FILE SECTION|"text" changes a file on disk without notifying the editor.
func cmdWrite(r *runner, rest string) error {
	file, what, _ := strings.Cut(rest, " ")
	text, err := r.text(strings.TrimSpace(what))
	if err != nil {
		return err
	}
	r.writeFile(filepath.Join(r.ws, filepath.FromSlash(file)), text)
	return nil
}

func cmdRemove(r *runner, rest string) error {
	return os.RemoveAll(filepath.Join(r.ws, filepath.FromSlash(rest)))
}

// text returns the value of a quoted string or the content of a want/ section.
func (r *runner) text(s string) ([]byte, error) {
	if strings.HasPrefix(s, `"`) {
		u, err := strconv.Unquote(s)
		return []byte(u), err
	}
	data, ok := r.script.section(wantPrefix + s)
	if !ok {
		return nil, fmt.Errorf("no section %s%s", wantPrefix, s)
	}
	return data, nil
}

// prompt "text" or prompt {params} calls agent/prompt and sets $session, $turn and $message.
func cmdPrompt(r *runner, rest string) error { return r.say("agent/prompt", rest) }

// steer "text" or steer {params} calls agent/steer.
func cmdSteer(r *runner, rest string) error { return r.say("agent/steer", rest) }

func (r *runner) say(method, rest string) error {
	params := map[string]any{}
	if strings.HasPrefix(rest, `"`) {
		text, err := strconv.Unquote(rest)
		if err != nil {
			return err
		}
		params["prompt"] = text
	} else if err := json.Unmarshal([]byte(rest), &params); err != nil {
		return err
	}
	if s := r.vars["session"]; s != "" && params["sessionId"] == nil {
		params["sessionId"] = s
	}
	if err := r.call(method, params); err != nil {
		return err
	}
	return r.keepIDs()
}

func (r *runner) keepIDs() error {
	if r.answer.Error != nil {
		return nil // the command error checks the error
	}
	var ids struct{ SessionID, TurnID, MessageID string }
	if err := json.Unmarshal(r.answer.Result, &ids); err != nil {
		return err
	}
	for name, v := range map[string]string{"session": ids.SessionID, "turn": ids.TurnID,
		"message": ids.MessageID} {
		if v != "" {
			r.vars[name] = v
		}
	}
	return nil
}

func (r *runner) call(method string, params any) error {
	var err error
	if r.sent, err = r.ed.Send(method, params); err != nil {
		return err
	}
	r.answer, err = r.ed.Answer(r.sent)
	return err
}

func cmdAbort(r *runner, rest string) error {
	params := map[string]any{"sessionId": r.vars["session"]}
	if rest != "" {
		if err := json.Unmarshal([]byte(rest), &params); err != nil {
			return err
		}
	}
	return r.call("agent/abort", params)
}

// wait [pattern] waits for the session's turn to end and compares the turn's summary with the
// pattern.
func cmdWait(r *runner, rest string) error {
	if err := r.call("agent/turn/wait",
		map[string]any{"sessionId": r.vars["session"]}); err != nil {
		return err
	}
	return cmdAnswer(r, rest)
}

// done [STATUS] expects the end of a turn with that status. The default is completed.
func cmdDone(r *runner, rest string) error {
	if rest == "" {
		rest = "completed"
	}
	return cmdExpect(r, fmt.Sprintf(`agent/turn/completed {"turn":{"status":%q}}`, rest))
}

// request METHOD [params] sends a request and waits for its response. The commands `answer` and
// `error` check the response.
func cmdRequest(r *runner, rest string) error {
	method, params, err := methodAnd(rest)
	if err != nil {
		return err
	}
	if err := r.call(method, params); err != nil {
		return err
	}
	return r.keepNew(method)
}

// keepNew records the IDs that are returned by requests that create a session or start a turn.
func (r *runner) keepNew(method string) error {
	switch method {
	case "agent/session/new", "agent/session/fork", "agent/session/import", "agent/continue":
		return r.keepIDs()
	}
	return nil
}

// send METHOD [params] sends a request without waiting for its response. The command `answer` waits
// for the response.
func cmdSend(r *runner, rest string) error {
	method, params, err := methodAnd(rest)
	if err != nil {
		return err
	}
	r.sent, err = r.ed.Send(method, params)
	r.vars["sent"] = r.sent
	r.answer = nil
	return err
}

func cmdNotify(r *runner, rest string) error {
	method, params, err := methodAnd(rest)
	if err != nil {
		return err
	}
	return r.ed.Notify(method, params)
}

// raw "bytes" sends bytes to the daemon unchanged.
func cmdRaw(r *runner, rest string) error {
	text, err := strconv.Unquote(rest)
	if err != nil {
		return err
	}
	return r.ed.Raw([]byte(text))
}

func methodAnd(rest string) (string, any, error) {
	method, body, _ := strings.Cut(rest, " ")
	if body = strings.TrimSpace(body); body == "" {
		return method, map[string]any{}, nil
	}
	if !json.Valid([]byte(body)) {
		return "", nil, fmt.Errorf("the parameters are not JSON: %s", body)
	}
	return method, json.RawMessage(body), nil
}

// reply JSON answers the last expected server request.
func cmdReply(r *runner, rest string) error {
	if r.last == nil || !r.last.isRequest() {
		return errors.New("the last expected message was not a request from the server")
	}
	return r.ed.Reply(r.last, json.RawMessage(rest))
}

func cmdReplyError(r *runner, rest string) error {
	code, text, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(code)
	if err != nil {
		return err
	}
	return r.ed.replyError(r.last, n, text)
}

// auto METHOD JSON answers every server request with that method from now on. once METHOD JSON
// answers only the next one.
func cmdAuto(r *runner, rest string) error {
	method, body, _ := strings.Cut(rest, " ")
	r.ed.Auto(method, json.RawMessage(body))
	return nil
}

func cmdOnce(r *runner, rest string) error {
	method, body, _ := strings.Cut(rest, " ")
	r.ed.Once(method, json.RawMessage(body))
	return nil
}

func cmdBehave(r *runner, rest string) error { r.ed.Behave(rest); return nil }
func cmdRelease(r *runner, _ string) error   { r.ed.Release(); return nil }
func cmdSet(r *runner, rest string) error {
	k, v, _ := strings.Cut(rest, " ")
	r.vars[k] = v
	return nil
}

// restart shuts the daemon down as an editor does and starts another one with the same home folder.
func cmdRestart(r *runner, _ string) error {
	buffers := r.ed.buffers
	r.past = append(r.past, Story(r.ed.Log(0), r.ws))
	if !r.dead {
		r.shutdown()
	}
	r.checkOrder()
	r.launch()
	return r.reopen(buffers)
}

// kill kills the daemon immediately and starts another daemon.
func cmdKill(r *runner, _ string) error {
	if r.daemon.Kill == nil {
		return errors.New("this daemon cannot be killed")
	}
	r.daemon.Kill()
	r.daemon.Wait()
	r.gone()
	if err := cmdRestart(r, ""); err != nil {
		return err
	}
	for id, last := range r.seqs {
		r.seqs[id] = -last
	}
	return nil
}

func (r *runner) reopen(buffers map[string]*Buffer) error {
	for _, uri := range sortedKeys(buffers) {
		if err := r.ed.Open(uri, buffers[uri].Language, buffers[uri].Text); err != nil {
			return err
		}
	}
	return nil
}

// hangup [CODE] closes the daemon's stdin and expects the daemon to exit with CODE.
func cmdHangup(r *runner, rest string) error {
	if err := r.ed.CloseStdin(); err != nil {
		return err
	}
	code := r.daemon.Wait()
	r.gone()
	if want, _ := strconv.Atoi(rest); rest != "" && want != code {
		return fmt.Errorf("exit code %d, want %d", code, want)
	}
	return nil
}
