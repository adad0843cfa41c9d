package catalog

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/embedded"
)

var update = flag.Bool("update", false, "write models.txt from the module charm.land/catwalk")

// TestDataIsCurrent checks that models.txt matches the data in the module charm.land/catwalk.
func TestDataIsCurrent(t *testing.T) {
	var lists []list
	for _, p := range embedded.GetAll() {
		if l, n := listOf(&p); n > 0 {
			lists = append(lists, l)
		}
	}
	want := newCatalog(lists).format()
	if *update {
		if err := os.WriteFile("models.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		data = want
	}
	if data != want {
		t.Error("models.txt is out of date: run go test ./internal/model/catalog -update")
	}
}

// TestEveryModelIsFound checks that each model in the module is found by its ID and by its plain
// name, together with its data. If several models in a list share a name, the first one is found.
func TestEveryModelIsFound(t *testing.T) {
	for _, p := range embedded.GetAll() {
		byID, byName := map[string]Model{}, map[string]Model{}
		for i := range p.Models {
			m := &p.Models[i]
			want := Model{
				Name: m.Name, Window: int(m.ContextWindow), Reply: int(m.DefaultMaxTokens),
				Price: priceOf(m), Vision: m.SupportsImages, Levels: levelsOf(m), Found: true,
			}
			for name, found := range map[string]map[string]Model{
				strings.ToLower(m.ID): byID, plainName(m.ID): byName,
			} {
				if _, ok := found[name]; !ok {
					found[name] = want
				}
			}
		}
		maps.Copy(byName, byID)
		for name, want := range byName {
			if got := Lookup(string(p.ID), name); !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s: %+v, want %+v", p.ID, name, got, want)
			}
		}
	}
}

// BenchmarkLookup looks up a model that is in no list, so Lookup also tries every shorter prefix of
// the name.
func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		Lookup("", "acme/no-such-model-of-any-provider")
	}
}

// BenchmarkParse reads the data in the binary, as the first lookup does.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parse(data)
	}
}

// Models are found by each provider's spelling of their name. If the name does not identify a model
// exactly, data such as the price is omitted.
func TestLookup(t *testing.T) {
	for _, c := range []struct {
		provider, id string
		window       int
		price        Price
		loose        bool
	}{
		{"openai", "gpt-4.1", 1047576, Price{Input: 2, Output: 8, CacheRead: .5}, false},
		{"", "GPT-4.1", 1047576, Price{Input: 2, Output: 8, CacheRead: .5}, false},
		{"", "openai/gpt-4.1-2025-04-14", 1047576, Price{2, 8, .5, 0}, false},
		{"openai", "gpt-4.1-of-acme", 1047576, Price{}, true},
		{"anthropic", "claude-sonnet-4-5", 200000, Price{3, 15, .3, 3.75}, false},
		{"openrouter", "anthropic/claude-sonnet-4.5", 1000000, Price{3, 15, .3, 3.75}, false},
		{"", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200000, Price{3, 15, .3, 3.75}, false},
		{"", "claude-sonnet-4-5@20250929", 200000, Price{3, 15, .3, 3.75}, false},
		{"openai", "deepseek-v4-pro", 1000000, Price{.435, .87, .003625, 0}, false},
		{"", "o1-preview", 200000, Price{}, true},
		{"", "o10", 0, Price{}, false},
		{"", "gpt", 0, Price{}, false},
		{"", "mystery", 0, Price{}, false},
		{"kimi-coding", "kimi-for-coding", 262144, Price{}, false}, // a subscription has no price
	} {
		m := Lookup(c.provider, c.id)
		if m.Window != c.window || m.Price != c.price || m.Loose != c.loose ||
			m.Found != (c.window > 0) {
			t.Errorf("%s of %q: %+v", c.id, c.provider, m)
		}
	}
}

// Providers define their two prices for cached input differently. These are the published prices.
// According to https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching, writes cost
// 1.25 times as much as other input, and reads cost a tenth. According to
// https://openai.com/api/pricing, reads cost a tenth to a half.
func TestCacheTiers(t *testing.T) {
	claude := 0
	for _, p := range embedded.GetAll() {
		if p.ID != "anthropic" {
			continue
		}
		for _, m := range p.Models {
			claude++
			price := Lookup("anthropic", m.ID).Price
			if !near(price.CacheWrite, 1.25*price.Input) || !near(price.CacheRead, price.Input/10) {
				t.Errorf("%s: %+v", m.ID, price)
			}
		}
	}
	if claude < 5 {
		t.Errorf("%d models of Anthropic", claude)
	}
	for id, want := range map[string]Price{
		// The comments say what the two prices for cached input in the data mean.
		"openai gpt-5.6-sol":             {5, 30, .5, 6.25},   // write, read
		"openai gpt-5.5":                 {5, 30, .5, 0},      // read, 0
		"openai gpt-5":                   {1.25, 10, .125, 0}, // read, read
		"openai o3":                      {2, 8, .5, 0},       // 0, read
		"opencode-zen claude-sonnet-4-5": {3, 15, .3, 3.75},   // read, write
		// This model has its own read price but the write price of another model.
		"minimax MiniMax-M2.7-highspeed": {.6, 2.4, .06, 0},
		"gemini gemini-3.7-flash":        {.75, 3.75, .075, 0}, // read, output
		"gemini gemini-3.5-flash":        {1.5, 9, 0, 0},       // 0, storage
		"openrouter qwen/qwen3-max":      {.78, 3.9, .156, .975},
		"qiniucloud z-ai/glm-5":          {.56, 2.5, 0, 0}, // input, output
	} {
		provider, name, _ := strings.Cut(id, " ")
		if got := Lookup(provider, name).Price; got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
}

// In the catalog, cached reads cost at most half as much as other input, and cache writes cost at
// least as much as other input.
func TestPricesAreSound(t *testing.T) {
	known := 0
	for _, p := range embedded.GetAll() {
		for _, m := range p.Models {
			price := Lookup(string(p.ID), m.ID).Price
			if price == (Price{}) {
				continue
			}
			known++
			if price.Input <= 0 || price.Output < 0 || price.CacheRead > price.Input/2+1e-9 ||
				price.CacheWrite != 0 && price.CacheWrite < price.Input {
				t.Errorf("%s %s: %+v", p.ID, m.ID, price)
			}
		}
	}
	if known < 1000 {
		t.Errorf("%d models have a price", known)
	}
}

// The catalog's thinking levels have the same names as in the settings. A model that does not
// support thinking has no levels.
func TestLevels(t *testing.T) {
	for id, want := range map[string]string{
		"claude-opus-5": "[low medium high xhigh]", "gpt-5.6-sol": "[off low medium high xhigh]",
		"claude-sonnet-4-5": "[low medium high]", "gpt-4.1": "[]",
	} {
		if got := fmt.Sprint(Lookup("", id).Levels); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// Providers are recognized by their endpoint's host.
func TestProviderAt(t *testing.T) {
	for host, want := range map[string]string{
		"api.anthropic.com": "anthropic", "api.deepseek.com": "deepseek",
		"openrouter.ai":         "openrouter",
		"acme.openai.azure.com": "azure", "127.0.0.1:8080": "", "": "",
	} {
		if got := ProviderAt(host); got != want {
			t.Errorf("%s: %q", host, got)
		}
	}
}
