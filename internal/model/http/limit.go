package modelhttp

// Limits of a derived output limit, in tokens.
const (
	DerivedOutput = 32000 // in addition to the tokens for thinking
	minOutput     = 1024
	// percent of the estimated input: the provider refuses a limit beyond the window
	safeCount = 133
)

// OutputLimit returns the limit on a reply's tokens: the caller's limit, otherwise derived, as far
// as the model and the free window allow. 0 leaves the limit to the provider.
func (c *Call) OutputLimit(derived int) int {
	req := c.Req
	info := c.Client.Info(c.Model)
	n := req.Sampling.MaxTokens
	set := n > 0
	if !set {
		n = derived
		if known := c.Client.Known(c.Model).Reply; known > 0 {
			n = min(n, known)
		}
	}
	if !set && n > 0 && info.ContextWindow > 0 {
		n = max(min(n, info.ContextWindow-InputTokens(req)*safeCount/100), min(n, minOutput))
	}
	return n
}
