package launcher

// ProxyPort is the loopback port of the proxy inside a sandbox. It is outside the range from which
// Linux chooses ports by default.
const ProxyPort = 61199

// OfferFD is the descriptor of the connection to the proxy in a process that OfferPrefix starts.
const OfferFD = 3

// offerArg is the hidden first argument with which this binary offers the proxy a listener and
// becomes the command.
const offerArg = "__sandbox-offer"

// OfferPrefix returns the prefix for a command that another program starts in a network namespace.
// This binary then offers the proxy a listener there and becomes the command.
func OfferPrefix(exe string) []string { return []string{exe, offerArg, "--"} }

// TokenVar is the variable that contains the token, which identifies the launcher's command to the
// proxy.
const TokenVar = "AGENT_LSP_PROXY_TOKEN"
