--- Tests :AgentSetup, and the empty panel while no provider is configured. The test starts a server
--- that acts as the provider. A wrapper around the binary records the key that it receives.
local H = require('harness')

local wrapper = [[#!/bin/sh
if [ "$1" = login ]; then
  [ "$2" = azure ] && { echo "no keyring" >&2; exit 1; }
  { echo "$@"; cat; } > "$LOGIN_FILE"
  exit 0
fi
exec "$REAL_BIN" "$@"
]]

--- Starts a server with an OpenAI-compatible API, which returns a list of models and an answer to
--- each request.
---@param models? string[] names of the models in the list
local function serve(models)
  local requests, server = {}, vim.uv.new_tcp()
  server:bind('127.0.0.1', 0)
  local function reply(sock, status, kind, body)
    local head = 'HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n'
      .. 'Connection: close\r\n\r\n'
    sock:write(head:format(status, kind, #body) .. body, function()
      sock:close()
    end)
  end
  local list = vim.json.encode({
    data = vim.tbl_map(function(id)
      return { id = id }
    end, models or { 'small-chat', 'big-chat' }),
  })
  local words =
    'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n'
  words = words .. 'data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":100}}\n\n'
  server:listen(16, function()
    local sock, data = vim.uv.new_tcp(), ''
    server:accept(sock)
    sock:read_start(function(_, chunk)
      data = data .. (chunk or '')
      local head, rest = data:match('^(.-\r\n\r\n)(.*)$')
      local length = head and tonumber(head:lower():match('content%-length: (%d+)')) or 0
      if not head or #rest < length then
        return
      end
      sock:read_stop()
      table.insert(requests, head)
      if head:find('/models ', 1, true) and not requests.locked then
        return reply(sock, '200 OK', 'application/json', list)
      elseif requests.broken then
        return reply(sock, '500 Internal Server Error', 'text/plain', 'out of memory')
      elseif requests.refuse or requests.locked then
        local problem = '{"error":{"message":"bad key"}}'
        return reply(sock, '401 Unauthorized', 'application/json', problem)
      end
      reply(sock, '200 OK', 'text/event-stream', words .. 'data: [DONE]\n\n')
    end)
  end)
  return ('http://127.0.0.1:%d/v1'):format(server:getsockname().port), requests
end

local function start(opts)
  H.start(opts or {})
  vim.env.AGENT_LSP_SCRIPT = nil
  vim.env.XDG_CONFIG_HOME = H.dir .. '-config'
  vim.env.LOGIN_FILE, vim.env.REAL_BIN = H.dir .. '-login', H.bin
  local bin = H.dir .. '-bin'
  H.write(bin, wrapper)
  vim.uv.fs_chmod(bin, 493)
  require('agent_lsp').setup({ cmd = { bin }, settings = { provider = { probe = false } } })
end

local function told(text)
  H.wait(text, function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find(text, 1, true)
    end)
  end)
end

local function secret(...)
  local keys, prompts = { ... }, {}
  require('agent_lsp.setup').ask_secretly = function(prompt)
    table.insert(prompts, prompt)
    return table.remove(keys, 1) or ''
  end
  return prompts
end

local function model()
  local session = require('agent_lsp.client').workspace().session
  local params = { sessionId = session, config = vim.empty_dict() }
  return H.request('agent/session/configure', params).config.model
end

H.case('the empty panel says that no provider is configured, and S opens the setup', function()
  start()
  vim.cmd('AgentToggle')
  H.wait('the offer', function()
    return H.panel_text():find('No model provider is configured yet', 1, true)
  end)
  H.matches(H.panel_text(), 'S  choose a provider %(:AgentSetup%)')
  H.matches(H.panel_text(), 'These keys work in this window')
  H.matches(H.panel_text(), 'D  try the demo, which needs no key')
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.api.nvim_feedkeys('S', 'xt', false)
  H.equal(#H.asked[1].items, 10)
  local titles = table.concat(H.asked[1].items, '|')
  H.matches(
    titles,
    '^OpenAI  %(needs a key%)|Anthropic  %(needs a key%)|Gemini.*|OpenRouter.*|'
      .. 'Ollama, on this machine  %(needs no key%)|llama%-server.*LM Studio.*vLLM.*|'
      .. 'Azure OpenAI  %(needs a URL and a key%)|'
  )
  H.matches(titles, 'Other URL')
end)

H.case('a prompt without a provider names the setup and the demo', function()
  start()
  vim.cmd('AgentPrompt hello')
  told(':AgentSetup sets up a provider. :AgentDemo shows the agent without one.')
end)

H.case(
  'setup asks for the URL, key and model of a server, makes a test call and restarts nothing',
  function()
    start()
    local url, requests = serve()
    vim.cmd('AgentNew')
    H.event('session')
    local pid = H.request('agent/status', {}).pid
    local prompts = secret('k-secret')
    H.choose('Other URL', url, 'big%-chat')
    vim.cmd('AgentSetup')
    told('custom/big-chat answered')
    H.matches(prompts[1], 'not shown')
    H.equal(H.read(vim.env.LOGIN_FILE), 'login custom --stdin\nk-secret\n')
    local stored = vim.json.decode(H.read(vim.env.XDG_CONFIG_HOME .. '/agent-lsp/config.json'))
    H.equal(stored, { providers = { custom = { baseUrl = url } } }, 'no key is in the settings')
    H.equal(#requests > 1, true)
    H.wait('the model', function()
      return model() == 'custom/big-chat'
    end)
    H.equal(H.request('agent/status', {}).pid, pid)
    vim.cmd('AgentNew')
    H.event('session', nil, 2)
    H.equal(model(), 'custom/big-chat', 'in a new session')
    for _, n in ipairs(H.notices) do
      H.equal(n.text:find('k-secret', 1, true), nil)
    end
  end
)

H.case(
  'the real login stores the key for a URL, and every request to that URL has the key',
  function()
    start()
    local url, requests = serve()
    vim.env.AGENT_LSP_KEYRING = 'file'
    require('agent_lsp').setup({ cmd = { H.bin }, settings = { provider = { probe = false } } })
    secret('k-real')
    H.choose('Other URL', url, 'big%-chat')
    vim.cmd('AgentSetup')
    told('custom/big-chat answered')
    H.matches(requests[1], '^GET /v1/models ')
    local tested = vim.iter(requests):any(function(head) -- requests about its window may come later
      return vim.startswith(head, 'POST /v1/chat/completions ')
    end)
    H.equal(tested, true, 'the test call')
    for _, head in ipairs(requests) do
      H.matches(head:lower(), 'authorization: bearer k%-real', 'a request')
    end
    H.wait('the model', function()
      return model() == 'custom/big-chat'
    end)
    vim.cmd('AgentPrompt hello')
    H.equal(H.turn().status, 'completed')
    vim.env.AGENT_LSP_KEYRING = nil
    os.remove(vim.fn.stdpath('state') .. '/agent_lsp/defaults.json')
  end
)

H.case('a new key and a new provider do not affect pending changes or their daemon', function()
  local edit = H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'two' })
  H.start({
    files = { ['a.txt'] = 'one\n', ['b/.git/HEAD'] = '', ['b/b.txt'] = 'b\n' },
    settings = { editPolicy = 'collect' },
    script = { edit, { text = 'Done.' } },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.turn()
  H.hunks(1)
  local session = require('agent_lsp.client').workspace().session
  local ids = vim.tbl_map(function(c)
    return c.id
  end, vim.lsp.get_clients({ name = 'agent_lsp' }))
  vim.env.XDG_CONFIG_HOME = H.dir .. '-config'
  vim.env.LOGIN_FILE, vim.env.REAL_BIN = H.dir .. '-login', H.bin
  local bin = H.dir .. '-bin'
  H.write(bin, wrapper)
  vim.uv.fs_chmod(bin, 493)
  require('agent_lsp.config').options.cmd = { bin }
  local url = serve()
  secret('k-secret')
  vim.cmd('AgentNew')
  H.event('session', nil, 2)
  H.choose('Other URL', url, 'script', 'Use it anyway')
  vim.cmd('AgentSetup')
  H.wait('the end of the setup', function()
    return require('agent_lsp.config').stored().model
  end)
  H.equal(H.read(vim.env.LOGIN_FILE), 'login custom --stdin\nk-secret\n')
  local now = vim.tbl_map(function(c)
    return c.id
  end, vim.lsp.get_clients({ name = 'agent_lsp' }))
  H.equal(now, ids, 'a daemon was started again')
  H.equal(H.all('exit'), {})
  H.hunks(1)
  local listed = H.request('agent/proposal/list', { sessionId = session }).proposals
  H.equal(#listed, 1)
  vim.cmd('AgentAccept!')
  H.hunks(0)
  H.equal(H.lines(vim.fn.bufnr('a.txt')), { 'two' })
  os.remove(vim.fn.stdpath('state') .. '/agent_lsp/defaults.json')
end)

H.case('a local model has no price, and other models show dollars', function()
  start()
  local url = serve()
  vim.env.ACME_API_KEY = 'k'
  local price = { input = 3, output = 15 }
  local providers = { here = { baseUrl = url, apiKeyEnv = 'ACME_API_KEY' } }
  local settings = { providers = providers, model = 'here/small-chat' }
  require('agent_lsp').setup({ cmd = { H.bin }, settings = settings })
  vim.cmd('AgentPrompt hello')
  H.equal(H.turn().status, 'completed')
  local panel = require('agent_lsp.panel')
  local win = require('agent_lsp.transcript').window()
  H.wait('the usage', function()
    return panel.state.usage and panel.state.usage.output == 100
  end)
  H.equal(vim.wo[win].winbar:find('$', 1, true), nil)
  panel.state.usage = { cost = 0.0132, costEstimated = true }
  panel.winbar()
  H.matches(vim.wo[win].winbar, '#%$0%.0132 ')
  local models = require('agent_lsp.models')
  local m = { id = 'm', provider = 'p', contextWindow = 200000, cost = price }
  local entry = models.entry(m, 'm')
  H.equal(entry, '● m  (200k tokens, $3 in and $15 out per million tokens)')
end)

H.case(
  'the list of models has only chat models, and shows the current one, windows and prices',
  function()
    start()
    local names = { 'dall-e-3', 'whisper-1', 'text-embedding-3-small', 'gpt-5', 'gpt-4o', 'tts-1' }
    local url = serve(names)
    -- A server on this machine has no prices, so the test's server acts as the proxy for another
    -- host.
    vim.env.ACME_API_KEY, vim.env.HTTP_PROXY = 'k', url
    local remote = { baseUrl = 'http://models.example/v1', apiKeyEnv = 'ACME_API_KEY' }
    local providers = { acme = remote }
    local settings = { providers = providers, model = 'acme/gpt-4o' }
    require('agent_lsp').setup({ cmd = { H.bin }, settings = settings })
    vim.cmd('AgentNew')
    H.event('session')
    vim.cmd('AgentModel')
    H.wait('the list', function()
      return H.asked[1]
    end)
    local items = H.asked[1].items
    H.equal(#items, 2, table.concat(items, '\n'))
    local figures = '  %(%d+k tokens, %$[%d.]+ in and %$[%d.]+ out per million tokens, '
    H.matches(items[1], '^  gpt%-5' .. figures)
    H.matches(items[2], '^● gpt%-4o' .. figures)
    vim.cmd('AgentPrompt hello')
    H.equal(H.turn().status, 'completed')
    H.wait('the cost', function()
      return vim.wo[require('agent_lsp.transcript').window()].winbar:find('#%$0%.0%d%d%d ')
    end)
    vim.env.HTTP_PROXY = nil
  end
)

H.case('a failed test call says why and offers the key again', function()
  start()
  local url, requests = serve()
  requests.refuse = true
  secret('wrong', '')
  H.choose('Other URL', url, 'big%-chat', false)
  vim.cmd('AgentSetup')
  H.wait('the question', function()
    return #H.asked == 4
  end)
  H.matches(H.asked[4].text, 'The test call to custom/big%-chat failed: ')
  H.equal(H.asked[4].items[1], 'Enter the key again')
  H.equal(require('agent_lsp.config').stored().model, nil)
end)

H.case('a server error names the status and the host, and keys that can resolve it', function()
  start()
  local url, requests = serve()
  requests.broken = true
  local settings = { provider = { baseUrl = url }, model = 'm', retry = { maxRetries = 0 } }
  require('agent_lsp').setup({ cmd = { H.bin }, settings = settings })
  vim.cmd('AgentPrompt hello')
  H.equal(H.turn().status, 'failed')
  local error_text = 'HTTP 500 from ' .. url:match('//([^/]+)')
  H.wait(error_text, function()
    return H.panel_text():find(error_text, 1, true)
  end)
  H.matches(H.panel_text(), ' S  change the URL or the provider %(:AgentSetup%)')
  H.matches(H.panel_text(), ' c  try again')
end)

H.case('if a key is refused, setup says so and asks for the key again', function()
  start()
  vim.env.AGENT_LSP_KEYRING = 'file'
  require('agent_lsp').setup({ cmd = { H.bin }, settings = { provider = { probe = false } } })
  local url, requests = serve()
  local keys = { 'wrong', 'right' }
  require('agent_lsp.setup').ask_secretly = function()
    requests.locked = #keys == 2
    return table.remove(keys, 1)
  end
  H.choose('Other URL', url, 'Enter the key again', 'big%-chat')
  vim.cmd('AgentSetup')
  told('custom/big-chat answered')
  H.equal(H.asked[3].text, 'The API key for the server is invalid: bad key')
  H.equal(H.asked[3].items, { 'Enter the key again', 'Enter another URL', 'Enter a model id' })
  H.equal(#keys, 0)
  vim.env.AGENT_LSP_KEYRING = nil
  os.remove(vim.fn.stdpath('state') .. '/agent_lsp/defaults.json')
end)

H.case('a key that cannot be stored is reported; without a key nothing changes', function()
  start()
  secret('k-secret', '')
  H.choose('Azure', 'https://a.example/v1', 'Anthropic')
  vim.cmd('AgentSetup')
  told('the key was not stored: no keyring\nset AZURE_OPENAI_API_KEY and restart Neovim')
  vim.cmd('AgentSetup')
  told('no key was entered; nothing changed')
  H.equal(vim.fn.filereadable(vim.env.LOGIN_FILE), 0)
end)

H.case('a settings file with comments is left as it is', function()
  start()
  local path = vim.env.XDG_CONFIG_HOME .. '/agent-lsp/config.json'
  H.write(path, '{\n  // mine\n  "editPolicy": "review"\n}\n')
  local before = H.read(path)
  H.choose('Other URL', 'http://127.0.0.1:9/v1')
  vim.cmd('AgentSetup')
  told('"providers": {"custom": {"baseUrl": "http://127.0.0.1:9/v1"}}')
  H.equal(H.read(path), before)
  H.write(path, '{"editPolicy":"review","permissions":{"allow":["a","b"]}}')
  H.equal(require('agent_lsp.userfile').set_provider('ollama', 'http://127.0.0.1:1/v1'), nil)
  H.equal(vim.json.decode(H.read(path)), {
    editPolicy = 'review',
    permissions = { allow = { 'a', 'b' } },
    providers = { ollama = { baseUrl = 'http://127.0.0.1:1/v1' } },
  })
end)

H.run()
