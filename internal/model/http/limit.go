package modelhttp

// The bounds of a derived limit on the output, in tokens.
const (
	DerivedOutput = 32000 // in addition to those for thinking
	minOutput     = 1024
	safeCount     = 133 // percent of the estimated input: a limit beyond the window is refused
)

// OutputLimit is the limit on a reply's tokens: the caller's, else the options', else derived, as
// far as the model and the free window have room for it; 0 leaves the limit to the provider.
func (c *Call) OutputLimit(derived int) int {
	req := c.Req
	info := c.Client.Info(c.Model)
	n := req.Sampling.MaxTokens
	set := n > 0
	if !set {
		n = c.Client.Options.MaxOutput
	}
	if n == 0 {
		n = derived
		if known := c.Client.Known(c.Model).Reply; known > 0 {
			n = min(n, known)
		}
	}
	if info.MaxOutput > 0 {
		n = min(n, info.MaxOutput)
	}
	if !set && n > 0 && info.ContextWindow > 0 {
		n = max(min(n, info.ContextWindow-InputTokens(req)*safeCount/100), min(n, minOutput))
	}
	return n
}
