package policy

import "strings"

// This file parses scripts of sed and awk, which can write files and run commands.

// sedArgs accepts sed scripts that print, delete and substitute on standard output only.
func sedArgs(args []arg) string {
	scripts, operands := []string{}, 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.mayBeFlag():
			return unknownArgument
		case a.text == "-e" || a.text == "--expression":
			if i++; i < len(args) {
				scripts = append(scripts, sedScript(args[i]))
			}
		case sedPlainFlag(a.text):
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1:
			return "with " + a.text + " can do more than read"
		default:
			if operands++; operands == 1 && len(scripts) == 0 {
				scripts = append(scripts, sedScript(a))
			}
		}
	}
	for _, s := range scripts {
		if !sedOnlyPrints(s) {
			return "has a script that may write or run something"
		}
	}
	return ""
}

func sedPlainFlag(s string) bool {
	switch s {
	case "--quiet", "--silent", "--regexp-extended", "--posix":
		return true
	}
	return len(s) > 1 && s[0] == '-' && strings.Trim(s[1:], "nErus") == ""
}

// sedScript returns the text of a sed script. If the shell expands the argument, sedScript returns
// a script that sedOnlyPrints refuses.
func sedScript(a arg) string {
	if a.dynamic {
		return "w"
	}
	return a.text
}

// sedOnlyPrints parses a script and reports whether it contains only addresses and commands that
// print.
func sedOnlyPrints(s string) bool {
	for {
		s = strings.TrimLeft(s, " \t\n;{}")
		if s == "" {
			return true
		}
		var ok bool
		if s, ok = sedAddress(s); !ok {
			return false
		}
		s = strings.TrimLeft(s, " !")
		if s == "" {
			return false
		}
		c := s[0]
		s = s[1:]
		switch {
		case strings.IndexByte("pdqQlnNDPhHgGx=", c) >= 0:
			s = strings.TrimLeft(s, "0123456789")
		case c == 's' || c == 'y':
			if s, ok = sedSubstitute(s); !ok {
				return false
			}
		case c == '{':
			continue
		default:
			return false
		}
		if s != "" && strings.IndexByte(" \t\n;}", s[0]) < 0 {
			return false
		}
	}
}

// sedAddress skips an address: `12`, `$`, `/re/`, two of them, or a step.
func sedAddress(s string) (rest string, ok bool) {
	for s != "" {
		switch c := s[0]; {
		case c >= '0' && c <= '9', c == '$', c == ',', c == '~', c == '+', c == ' ':
			s = s[1:]
		case c == '/':
			i := sedDelimiter(s[1:], '/')
			if i < 0 {
				return s, false
			}
			s = strings.TrimLeft(s[1+i:], "I")
		default:
			return s, true
		}
	}
	return s, false
}

// sedDelimiter returns the offset after the next unescaped delimiter.
func sedDelimiter(s string, d byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			return -1
		case d:
			return i + 1
		}
	}
	return -1
}

func sedSubstitute(s string) (rest string, ok bool) {
	if s == "" || s[0] == '\\' || s[0] == '\n' || s[0] == '[' {
		return s, false
	}
	d := s[0]
	s = s[1:]
	for range 2 {
		i := sedDelimiter(s, d)
		if i < 0 {
			return s, false
		}
		s = s[i:]
	}
	return strings.TrimLeft(s, "gpiIM0123456789"), true
}

// awkArgs accepts an awk program on the command line if it contains no word or character that makes
// awk write files or run commands.
func awkArgs(args []arg) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.dynamic && a.many:
			return unknownArgument
		case a.text == "-F" || a.text == "-v":
			if i++; i < len(args) && args[i].many {
				return unknownArgument
			}
		case len(a.text) > 2 && strings.HasPrefix(a.text, "-F") && !a.dynamic:
		case strings.HasPrefix(a.text, "-"):
			return "with " + a.text + " can do more than read"
		default:
			return awkProgram(a, args[i+1:])
		}
	}
	return ""
}

func awkProgram(a arg, files []arg) string {
	if a.dynamic || strings.ContainsAny(a.text, ">|@") || strings.Contains(a.text, "system") ||
		strings.Contains(a.text, "getline") || strings.Contains(a.text, "fflush") {
		return "has a program that may write or run something"
	}
	for _, f := range files {
		if f.mayBeFlag() {
			return unknownArgument
		}
	}
	return ""
}
