package repair

import "encoding/json"

// JSON is the repair of a value alone, as the calls of tools get it.
func JSON(raw string) (json.RawMessage, bool) {
	f := fix(raw)
	return f.value, f.ok
}
