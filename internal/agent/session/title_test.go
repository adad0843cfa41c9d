package session

import "testing"

// A suggested title replaces the one derived from the prompt, but never a title that the user set.
func TestSuggestedTitle(t *testing.T) {
	lib := Open(t.TempDir())
	defer lib.Close()
	s, err := lib.Create(Meta{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if named, err := s.SuggestTitle("first"); err != nil || !named || s.Entry().Title != "first" {
		t.Errorf("%v, %v, %q", named, err, s.Entry().Title)
	}
	if err := s.SetTitle("mine"); err != nil {
		t.Fatal(err)
	}
	if named, err := s.SuggestTitle("second"); err != nil || named || s.Entry().Title != "mine" {
		t.Errorf("%v, %v, %q", named, err, s.Entry().Title)
	}
}
