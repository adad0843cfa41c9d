package repair

import "encoding/json"

// JSON repairs a JSON value in the same way as the arguments of tool calls.
func JSON(raw string) (json.RawMessage, bool) {
	f := fix(raw)
	return f.value, f.ok
}
