package launcher

// ProxyPort is the loopback port of the proxy inside a sandbox. It is outside the range from which
// systems choose ports.
const ProxyPort = 61199

// OfferFD is the descriptor of the connection to the proxy in a process that OfferPrefix starts.
const OfferFD = 3

// offerArg is the hidden first argument under which this binary offers the proxy a listener and
// becomes the command.
const offerArg = "__sandbox-offer"

// OfferPrefix is put before a command that another program starts in a network namespace. It offers
// the proxy a listener there and then becomes the command.
func OfferPrefix(exe string) []string { return []string{exe, offerArg, "--"} }

// TokenVar is the variable with the token that names the launcher's command to the proxy.
const TokenVar = "AGENT_LSP_PROXY_TOKEN"
