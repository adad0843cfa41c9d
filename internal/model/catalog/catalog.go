// Package catalog is the built-in table of models: windows, limits, abilities and prices.
// Start at Lookup.
package catalog

import "strings"

// Model is what the built-in table says of a family of models.
type Model struct {
	Window    int // tokens
	MaxOutput int
	Price     Price
	Effort    bool // takes reasoning_effort, and no sampling parameters
	Blind     bool // cannot see images
	NoTools   bool
	Found     bool
}

// HasVision reports whether the model sees images; nil where that is not known.
func (k Model) HasVision() *bool {
	if !k.Found {
		return nil
	}
	v := !k.Blind
	return &v
}

// HasTools reports whether the model calls tools; nil where that is not known.
func (k Model) HasTools() *bool {
	if !k.Found {
		return nil
	}
	v := !k.NoTools
	return &v
}

// models is keyed by the beginning of a model's name, without its vendor; the longest
// beginning that fits wins. Prices are US dollars per million tokens, as published; they
// only serve to estimate (Usage.CostEstimated) and can be overridden by the setting prices.
var models = map[string]Model{
	"gpt-3.5-turbo": {Window: 16385, MaxOutput: 4096, Price: Price{Input: .5, Output: 1.5}, Blind: true},
	"gpt-4":         {Window: 8192, MaxOutput: 8192, Price: Price{Input: 30, Output: 60}, Blind: true},
	"gpt-4-turbo":   {Window: 128000, MaxOutput: 4096, Price: Price{Input: 10, Output: 30}},
	"gpt-4o":        {Window: 128000, MaxOutput: 16384, Price: Price{Input: 2.5, Output: 10, CacheRead: 1.25}},
	"gpt-4o-mini":   {Window: 128000, MaxOutput: 16384, Price: Price{Input: .15, Output: .6, CacheRead: .075}},
	"gpt-4.1":       {Window: 1047576, MaxOutput: 32768, Price: Price{Input: 2, Output: 8, CacheRead: .5}},
	"gpt-4.1-mini":  {Window: 1047576, MaxOutput: 32768, Price: Price{Input: .4, Output: 1.6, CacheRead: .1}},
	"gpt-4.1-nano":  {Window: 1047576, MaxOutput: 32768, Price: Price{Input: .1, Output: .4, CacheRead: .025}},
	"o1":            {Window: 200000, MaxOutput: 100000, Price: Price{Input: 15, Output: 60, CacheRead: 7.5}, Effort: true},
	"o3":            {Window: 200000, MaxOutput: 100000, Price: Price{Input: 2, Output: 8, CacheRead: .5}, Effort: true},
	"o3-mini":       {Window: 200000, MaxOutput: 100000, Price: Price{Input: 1.1, Output: 4.4, CacheRead: .55}, Effort: true, Blind: true},
	"o4-mini":       {Window: 200000, MaxOutput: 100000, Price: Price{Input: 1.1, Output: 4.4, CacheRead: .275}, Effort: true},
	"gpt-5":         {Window: 400000, MaxOutput: 128000, Price: Price{Input: 1.25, Output: 10, CacheRead: .125}, Effort: true},
	"gpt-5-mini":    {Window: 400000, MaxOutput: 128000, Price: Price{Input: .25, Output: 2, CacheRead: .025}, Effort: true},
	"gpt-5-nano":    {Window: 400000, MaxOutput: 128000, Price: Price{Input: .05, Output: .4, CacheRead: .005}, Effort: true},
	"gpt-6":         {Window: 400000, MaxOutput: 128000, Effort: true},
	"gpt-oss":       {Window: 131072, MaxOutput: 32768, Blind: true},

	"claude":            {Window: 200000, MaxOutput: 32000, Price: Price{Input: 3, Output: 15, CacheRead: .3, CacheWrite: 3.75}},
	"claude-3":          {Window: 200000, MaxOutput: 4096, Price: Price{Input: 3, Output: 15, CacheRead: .3, CacheWrite: 3.75}},
	"claude-3-5":        {Window: 200000, MaxOutput: 8192, Price: Price{Input: 3, Output: 15, CacheRead: .3, CacheWrite: 3.75}},
	"claude-3-5-haiku":  {Window: 200000, MaxOutput: 8192, Price: Price{Input: .8, Output: 4, CacheRead: .08, CacheWrite: 1}},
	"claude-opus-4":     {Window: 200000, MaxOutput: 32000, Price: Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}},
	"claude-opus-4-5":   {Window: 200000, MaxOutput: 64000, Price: Price{Input: 5, Output: 25, CacheRead: .5, CacheWrite: 6.25}},
	"claude-sonnet-4":   {Window: 200000, MaxOutput: 64000, Price: Price{Input: 3, Output: 15, CacheRead: .3, CacheWrite: 3.75}},
	"claude-haiku-4":    {Window: 200000, MaxOutput: 64000, Price: Price{Input: 1, Output: 5, CacheRead: .1, CacheWrite: 1.25}},
	"gemini":            {Window: 1048576, MaxOutput: 65536, Price: Price{Input: 1.25, Output: 10, CacheRead: .31}},
	"gemini-2.0-flash":  {Window: 1048576, MaxOutput: 8192, Price: Price{Input: .1, Output: .4, CacheRead: .025}},
	"gemini-2.5-flash":  {Window: 1048576, MaxOutput: 65536, Price: Price{Input: .3, Output: 2.5, CacheRead: .075}},
	"gemini-2.5-pro":    {Window: 1048576, MaxOutput: 65536, Price: Price{Input: 1.25, Output: 10, CacheRead: .31}},
	"deepseek":          {Window: 131072, MaxOutput: 8192, Price: Price{Input: .28, Output: .42, CacheRead: .028}, Blind: true},
	"deepseek-reasoner": {Window: 131072, MaxOutput: 65536, Price: Price{Input: .28, Output: .42, CacheRead: .028}, Blind: true},
	"mistral-large":     {Window: 131072, Price: Price{Input: 2, Output: 6}},
	"mistral-small":     {Window: 131072, Price: Price{Input: .1, Output: .3}},
	"codestral":         {Window: 262144, Price: Price{Input: .3, Output: .9}, Blind: true},
	"devstral":          {Window: 131072, Price: Price{Input: .1, Output: .3}, Blind: true},
	"grok-4":            {Window: 256000, Price: Price{Input: 3, Output: 15, CacheRead: .75}},
	"kimi-k2":           {Window: 262144, Price: Price{Input: .6, Output: 2.5, CacheRead: .15}, Blind: true},
	"glm-4":             {Window: 131072, Price: Price{Input: .6, Output: 2.2, CacheRead: .11}, Blind: true},
}

// BaseName is a model's name in lower case without its vendor ("openai/gpt-4.1" → "gpt-4.1").
func BaseName(model string) string {
	model = strings.ToLower(model)
	return model[strings.LastIndexByte(model, '/')+1:]
}

// Lookup finds the family of a model.
func Lookup(model string) Model {
	name := BaseName(model)
	for n := len(name); n > 0; n-- {
		if n < len(name) && !strings.ContainsRune("-.:@", rune(name[n])) {
			continue // "o1" is no beginning of "o10"
		}
		if k, ok := models[name[:n]]; ok {
			k.Found = true
			return k
		}
	}
	return Model{}
}
