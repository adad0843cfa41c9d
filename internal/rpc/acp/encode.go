package acp

import (
	"encoding/json"
	"errors"

	"github.com/coder/acp-go-sdk"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// unions encodes frequently sent union types of the library directly as their variant. The
// library's own MarshalJSON encodes the variant, decodes the result into a map, and encodes the
// map. It does so at every level.
var unions = jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, u acp.SessionUpdate) error {
		return variant(e, updateVariant(&u))
	}),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, u acp.ToolCallContent) error {
		return variant(e, toolContentVariant(&u))
	}),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, u acp.ContentBlock) error {
		if u.Text == nil {
			return errors.ErrUnsupported
		}
		return variant(e, u.Text)
	}),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, u acp.SessionConfigOption) error {
		if u.Select == nil {
			return errors.ErrUnsupported
		}
		return variant(e, u.Select)
	}),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, u acp.SessionConfigSelectOptions) error {
		if u.Ungrouped == nil {
			return errors.ErrUnsupported
		}
		return variant(e, u.Ungrouped)
	}),
))

// likeTheLibrary are the JSON options that the library's types require.
var likeTheLibrary = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false),
	unions)

func variant(e *jsontext.Encoder, v any) error {
	if v == nil {
		return errors.ErrUnsupported
	}
	return jsonv2.MarshalEncode(e, v)
}

// updateVariant returns the variant of an update, with its name set. It returns nil for rare
// variants.
func updateVariant(u *acp.SessionUpdate) any {
	switch {
	case u.ToolCall != nil:
		u.ToolCall.SessionUpdate = "tool_call"
		return u.ToolCall
	case u.ToolCallUpdate != nil:
		u.ToolCallUpdate.SessionUpdate = "tool_call_update"
		return u.ToolCallUpdate
	case u.UsageUpdate != nil:
		u.UsageUpdate.SessionUpdate = "usage_update"
		return u.UsageUpdate
	case u.SessionInfoUpdate != nil:
		u.SessionInfoUpdate.SessionUpdate = "session_info_update"
		return u.SessionInfoUpdate
	case u.ConfigOptionUpdate != nil:
		u.ConfigOptionUpdate.SessionUpdate = "config_option_update"
		return u.ConfigOptionUpdate
	case u.CurrentModeUpdate != nil:
		u.CurrentModeUpdate.SessionUpdate = "current_mode_update"
		return u.CurrentModeUpdate
	}
	return nil
}

// toolContentVariant returns the variant of tool content. The constructors have already set its
// name.
func toolContentVariant(u *acp.ToolCallContent) any {
	switch {
	case u.Content != nil:
		return u.Content
	case u.Diff != nil:
		return u.Diff
	case u.Terminal != nil:
		return u.Terminal
	}
	return nil
}

// codec encodes and decodes the messages of the connection.
var codec = jsonrpc.Codec{
	Encode: func(v any) ([]byte, error) { return jsonv2.Marshal(v, likeTheLibrary) },
	Decode: func(data []byte, v any) error { return json.Unmarshal(data, v) },
}

// encode encodes agent-lsp's own values, for which encoding cannot fail.
func encode(v any) []byte {
	b, _ := codec.Marshal(v)
	return b
}

// encodeWire encodes a struct of package wire with the options of that package.
func encodeWire(v any) []byte {
	b, _ := jsonv2.Marshal(v, jsontext.AllowInvalidUTF8(true))
	return b
}

// texts contains decoding options. They decode like the library, except for the text in prompts,
// which the library would read four times.
var texts = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(),
	jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder,
		b *acp.ContentBlock) error {
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		var t struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if jsonv2.Unmarshal(raw, &t, jsonv1.DefaultOptionsV1()) != nil || t.Type != "text" {
			return b.UnmarshalJSON(raw)
		}
		b.Text = &acp.ContentBlockText{Type: t.Type, Text: t.Text}
		return nil
	})))

// decode decodes a request's params.
func decode(params []byte, v any) error {
	if len(params) == 0 {
		params = []byte("{}")
	}
	if err := jsonv2.Unmarshal(params, v, texts); err != nil {
		return fail(codeInvalidParams, "params: %v", err)
	}
	return nil
}
