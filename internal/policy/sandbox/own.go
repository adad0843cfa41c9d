package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
	"github.com/agent-lsp/agent-lsp/internal/realpath"
)

// ownPlan plans a sandbox in which this binary starts the command. The folder spec.Tmp becomes /tmp
// in the sandbox.
func ownPlan(exe string, spec Spec) (*Plan, error) {
	if spec.Network {
		return nil, errors.New("sandboxing a command: agent-lsp's own sandbox has no network")
	}
	box := launcher.Spec{
		Roots:    spec.Writable,
		Readable: spec.Readable,
		Caches:   spec.Caches,
		Secrets:  spec.Secrets,
		Hidden:   spec.Hidden,
		Write:    true,
		Tmp:      spec.Tmp,
	}
	if len(spec.Writable) == 0 {
		box.Roots, box.Readable, box.Write = spec.Readable, nil, false
	} else if layer, err := madeFolder(spec.Layer); err != nil {
		return nil, fmt.Errorf("creating the sandbox's layers: %w", err)
	} else {
		box.Layer, box.Lock = layer, spec.Lock
	}
	box.Roots = merged(box.Roots)
	inRoot := func(path string) bool {
		return slices.ContainsFunc(box.Roots,
			func(r string) bool { return launcher.Below(path, r) })
	}
	box.Readable = slices.DeleteFunc(slices.Clone(box.Readable), inRoot) // visible already

	for _, p := range spec.Settings { // outside the workspace, commands need not see them
		box.Settings = append(box.Settings, launcher.Steps(p)...)
		if real, err := realpath.Eval(p); err == nil && !inRoot(real) {
			box.Hidden = append(slices.Clip(box.Hidden), real)
		}
	}
	if home, real := realHome(); real != "" {
		box.HomeName, box.Home = home, real
		box.Caches = moved(spec.Caches, home, real)
		box.Readable = append(
			slices.Clip(box.Readable),
			steady(launcher.HomeReadable(real, os.Getenv("PATH")), box.Roots)...)
	}
	if box.Home != "" {
		for _, f := range spec.Secrets {
			if launcher.Below(f, box.Home) {
				box.Readable = append(slices.Clip(box.Readable), f)
			}
		}
	}
	plan := &Plan{Kind: Own, Env: []string{"TMPDIR=/tmp", "TMP=/tmp", "TEMP=/tmp"}}
	if spec.Proxy != nil {
		box.Proxy, plan.Proxy = spec.Proxy.Socket, spec.Proxy
		plan.Env = append(plan.Env, proxyEnv()...)
		plan.Env = append(plan.Env, launcher.TokenVar+"="+spec.Proxy.Token)
	}
	var err error
	plan.Prefix, err = box.Prefix(exe)
	return plan, err
}

// realHome returns the user's home folder twice: as the environment names it, and with links
// resolved. It returns two empty strings if there is no usable home folder.
func realHome() (home, real string) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", ""
	}
	if real, err = realpath.Eval(home); err != nil || real == "/" {
		return "", ""
	}
	return home, real
}

// HomeVisible lists what commands in agent-lsp's own sandbox can read in the user's home:
// toolchains and a few settings, as paths relative to the home. The last entry stands for the
// package caches.
func HomeVisible() []string {
	_, real := realHome()
	if real == "" {
		return nil
	}
	var out []string
	for _, p := range launcher.HomeReadable(real, os.Getenv("PATH")) {
		out = append(out, strings.TrimPrefix(p, real+"/"))
	}
	slices.Sort(out)
	return append(slices.Compact(out), "package caches")
}

// moved converts paths below one folder to the same paths below another folder.
func moved(paths []string, from, to string) []string {
	out := slices.Clone(paths)
	for i, p := range out {
		if launcher.Below(p, from) {
			out[i] = to + p[len(from):]
		}
	}
	return out
}

// merged removes folders that are inside another listed folder, because the outer folder includes
// them.
func merged(roots []string) []string {
	roots = slices.Clone(roots)
	slices.Sort(roots)
	var out []string
	for _, r := range roots {
		if !slices.ContainsFunc(out, func(outer string) bool { return launcher.Below(r, outer) }) {
			out = append(out, r)
		}
	}
	return out
}
