package edit

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"strings"
)

// ParseGuard returns an error if before is valid in the language of the file's extension, and after
// is not. It knows Go and JSON. Other files always pass.
func ParseGuard(file string, before, after []byte) error {
	check := guardFor(file)
	if check == nil {
		return nil
	}
	err := check(after)
	if err == nil || check(before) != nil {
		return nil
	}
	return fmt.Errorf("parsing %s after the edit: %w",
		path.Base(strings.ReplaceAll(file, `\`, "/")), err)
}

func guardFor(file string) func([]byte) error {
	switch strings.ToLower(path.Ext(file)) {
	case ".go":
		return checkGo
	case ".json":
		return checkJSON
	}
	return nil
}

func checkGo(data []byte) error {
	_, err := parser.ParseFile(token.NewFileSet(), "", data, parser.SkipObjectResolution)
	return err
}

func checkJSON(data []byte) error {
	var raw json.RawMessage
	return json.Unmarshal(data, &raw)
}
