package modelhttp

// Limits in tokens for a request without its own output limit.
const (
	DerivedOutput = 32000 // does not include the tokens for thinking
	minOutput     = 1024
	// safeCount is the percentage of the estimated input that is reserved. The estimate may be too
	// low, and the provider refuses a limit beyond the window.
	safeCount = 133
)

// OutputLimit returns the limit on a reply's tokens. If the request sets no limit, OutputLimit
// returns the argument derived, or less if the model or the free part of the window requires it. A
// result of 0 leaves the limit to the provider.
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
