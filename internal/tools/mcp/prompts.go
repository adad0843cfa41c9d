package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Prompt is a prompt that a server offers, for the list of commands.
type Prompt struct {
	Server, Name, Description string
	Args                      []string
}

// Prompts lists the prompts of the servers that are ready.
func (h *Hub) Prompts(ctx context.Context) []Prompt {
	var out []Prompt
	for _, s := range h.sorted() {
		s.mu.Lock()
		session := s.session
		s.mu.Unlock()
		if session == nil || session.InitializeResult() == nil ||
			session.InitializeResult().Capabilities == nil ||
			session.InitializeResult().Capabilities.Prompts == nil {
			continue
		}
		for p, err := range session.Prompts(ctx, nil) {
			if err != nil {
				break
			}
			out = append(out, prompt(s.conf.Name, p))
		}
	}
	return out
}

func prompt(server string, p *sdk.Prompt) Prompt {
	out := Prompt{Server: server, Name: p.Name, Description: p.Description}
	for _, a := range p.Arguments {
		out.Args = append(out.Args, a.Name)
	}
	return out
}

// Expand returns the text of a server's prompt. args are the prompt's arguments in order.
func (h *Hub) Expand(ctx context.Context, server, name string, args []string) (string, error) {
	h.mu.Lock()
	s := h.servers[server]
	h.mu.Unlock()
	if s == nil {
		return "", fmt.Errorf("there is no MCP server %s", server)
	}
	session, err := s.ready(ctx)
	if err != nil {
		return "", err
	}
	named := map[string]string{}
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return "", err
		}
		if p.Name == name {
			for i, a := range p.Arguments {
				if i < len(args) {
					named[a.Name] = args[i]
				}
			}
		}
	}
	res, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: named})
	if err != nil {
		return "", fmt.Errorf("getting the prompt %s of %s: %w", name, server, err)
	}
	var text []string
	for _, m := range res.Messages {
		text = append(text, contentText(m.Content))
	}
	return strings.Join(text, "\n\n"), nil
}
