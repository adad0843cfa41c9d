package repair

import "encoding/json"

// JSON repairs a value as it is done for tool calls.
func JSON(raw string) (json.RawMessage, bool) {
	f := fix(raw)
	return f.value, f.ok
}
