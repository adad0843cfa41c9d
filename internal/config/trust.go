package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/filelock"
)

// Answer is the user's answer about a workspace. The zero value means that the user was not asked.
type Answer struct {
	Refused bool
	// Trusted maps the layers of claims to the claims' digests. The digest of a claim that the user
	// does not trust has the prefix refused.
	Trusted map[string]string
}

// Covers reports whether the user trusts exactly the contents of a claim.
func (a Answer) Covers(c Claim) bool {
	return !a.Refused && c.Digest != "" && a.Trusted[c.Layer] == c.Digest
}

// RefusesNow reports whether the user refused the workspace, or exactly the contents of a claim.
func (a Answer) RefusesNow(c Claim) bool {
	return a.Refused || c.Digest != "" && a.Trusted[c.Layer] == refused+c.Digest
}

// refused is put before the digest of a claim that the user refused.
const refused = "refused "

// Given reports whether the user has answered.
func (a Answer) Given() bool { return a.Refused || a.Trusted != nil }

// MarshalJSON writes false for a refusal, and otherwise the digests.
func (a Answer) MarshalJSON() ([]byte, error) {
	if a.Refused {
		return []byte("false"), nil
	}
	return json.Marshal(a.Trusted)
}

// UnmarshalJSON reads an answer. It ignores the plain true of older versions, because it named no
// contents, and everything else that cannot be read. The user is then asked again.
func (a *Answer) UnmarshalJSON(b []byte) error {
	*a = Answer{Refused: string(b) == "false"}
	if json.Unmarshal(b, &a.Trusted) != nil {
		a.Trusted = nil
	}
	return nil
}

// TrustFile stores the user's answers about workspaces. It is safe for concurrent use.
type TrustFile struct {
	path string
	mu   sync.Mutex
}

// NewTrustFile returns a TrustFile that stores answers in path, a file in the state directory.
func NewTrustFile(path string) *TrustFile { return &TrustFile{path: path} }

// Answer returns the user's answer about a root. If the file cannot be read, it returns the answer
// of a user who was not asked.
func (f *TrustFile) Answer(root string) Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	answers, err := f.read()
	if err != nil {
		return Answer{}
	}
	return answers[filepath.Clean(root)]
}

// Allow records that the user trusts a root with these claims. Earlier claims of other layers stay
// trusted, because editors send different layers for the same root.
func (f *TrustFile) Allow(root string, claims []Claim) error {
	return f.note(root, claims, "")
}

// RefuseClaims records that the user does not trust a root with these claims. The user is asked
// again about claims with other contents.
func (f *TrustFile) RefuseClaims(root string, claims []Claim) error {
	return f.note(root, claims, refused)
}

func (f *TrustFile) note(root string, claims []Claim, prefix string) error {
	return f.change(root, func(a Answer) Answer {
		trusted := map[string]string{}
		maps.Copy(trusted, a.Trusted)
		for _, c := range claims {
			trusted[c.Layer] = prefix + c.Digest
		}
		return Answer{Trusted: trusted}
	})
}

// Refuse records that the user does not trust a root, regardless of its later contents.
func (f *TrustFile) Refuse(root string) error {
	return f.change(root, func(Answer) Answer { return Answer{Refused: true} })
}

// Forget removes the answer for a root, so that the user is asked again.
func (f *TrustFile) Forget(root string) error {
	return f.change(root, func(Answer) Answer { return Answer{} })
}

func (f *TrustFile) change(root string, do func(Answer) Answer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := filelock.With(f.path, func() error {
		answers, err := f.read()
		if err != nil {
			return err
		}
		key := filepath.Clean(root)
		answers[key] = do(answers[key])
		maps.DeleteFunc(answers, func(_ string, a Answer) bool { return !a.Given() })
		return f.write(answers)
	})
	if err != nil {
		return fmt.Errorf("remembering the trust in %s: %w", root, err)
	}
	return nil
}

func (f *TrustFile) write(answers map[string]Answer) error {
	b, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		return err
	}
	return filelock.Replace(f.path, append(b, '\n'))
}

func (f *TrustFile) read() (map[string]Answer, error) {
	answers, err := filelock.ReadMap[Answer](f.path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, err)
	}
	return answers, nil
}
