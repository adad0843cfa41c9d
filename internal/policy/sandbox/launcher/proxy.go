package launcher

// ProxyPort is the loopback port of the proxy inside a sandbox. It is outside the range from which
// systems choose ports.
const ProxyPort = 61199

// TokenVar is the variable with the token that names the launcher's command to the proxy.
const TokenVar = "AGENT_LSP_PROXY_TOKEN"
