--- Guides the user through the setup of a provider: its name, URL, key and model, and a test call.
--- The plugin passes the key to the binary, which stores it. The plugin never shows the key, and no
--- setting contains it.
local client = require('agent_lsp.client')
local config = require('agent_lsp.config')
local defaults = require('agent_lsp.defaults')
local failure = require('agent_lsp.failure')
local log = require('agent_lsp.log')
local models = require('agent_lsp.models')
local transcript = require('agent_lsp.transcript')
local userfile = require('agent_lsp.userfile')

local M = {}

---@class agent_lsp.Offer a provider in the list
---@field name string the prefix of model references
---@field title string
---@field short? string its name in later questions; the default is the title
---@field example? string an example of its URL
---@field host? string a part of its host name; the default is its name
---@field variable? string environment variable of its key; absent if it needs no key
---@field url? string URL that the user may change; "" if the user must enter one
---@field optional? boolean whether the key is optional

---@type agent_lsp.Offer[]
local offers = {
  { name = 'openai', title = 'OpenAI', variable = 'OPENAI_API_KEY' },
  { name = 'anthropic', title = 'Anthropic', variable = 'ANTHROPIC_API_KEY' },
  { name = 'gemini', title = 'Gemini', variable = 'GEMINI_API_KEY', host = 'googleapis' },
  { name = 'openrouter', title = 'OpenRouter', variable = 'OPENROUTER_API_KEY' },
  { name = 'ollama', title = 'Ollama, on this machine', url = 'http://127.0.0.1:11434/v1' },
  {
    name = 'llama-server',
    title = 'llama-server, on this machine',
    url = 'http://127.0.0.1:8080/v1',
  },
  { name = 'lmstudio', title = 'LM Studio, on this machine', url = 'http://127.0.0.1:1234/v1' },
  { name = 'vllm', title = 'vLLM, on this machine', url = 'http://127.0.0.1:8000/v1' },
  { name = 'azure', title = 'Azure OpenAI', variable = 'AZURE_OPENAI_API_KEY', url = '' },
  {
    name = 'custom',
    title = 'Other URL with an OpenAI-compatible API',
    short = 'the server',
    example = ', such as https://host/v1',
    url = '',
    optional = true,
  },
}

local choose_model, enter_address
local missing = false

--- Removes the setup offer from the empty panel.
local function done()
  missing = false
  transcript.touch_footer()
end

--- Makes a test call to a model, and selects the model if it is not selected yet.
---@param in_use? boolean
local function use(o, ref, ws, in_use)
  log.tell(('testing %s …'):format(ref))
  client.request('agent/models', { test = ref }, function(err, res)
    local test = res and res.test
    if not err and test and test.ok then
      local took = test.latencyMs and (' in %d ms'):format(test.latencyMs) or ''
      if in_use then
        log.tell(('%s answered%s'):format(ref, took))
        return done()
      end
      local text = ('%s answered%s. It is now the model'):format(ref, took)
      defaults.make_default('model', ref, text, ws)
      return done()
    end
    local problem = err or test and test.error or 'no answer'
    local choices = { 'Enter the key again', 'Choose another model', 'Use it anyway' }
    vim.ui.select(choices, {
      prompt = ('The test call to %s failed: %s'):format(ref, failure.setup_text(problem)),
      kind = 'agent_lsp',
    }, function(_, n)
      if n == 1 then
        M.enter_key(o, ws)
      elseif n == 2 then
        choose_model(o, ws)
      elseif n == 3 then
        defaults.make_default('model', ref, ('the model is now %s'):format(ref), ws)
        done()
      end
    end)
  end, { workspace = ws })
end

--- Reports whether a model belongs to the provider.
local function belongs(o, m)
  return m.provider == o.name or vim.startswith(m.id, o.name .. '/')
end

--- Asks for the name of a model.
local function enter_model(o, ws, prompt)
  vim.ui.input({ prompt = prompt .. 'Model id: ' }, function(id)
    if id and id ~= '' then
      use(o, vim.startswith(id, o.name .. '/') and id or o.name .. '/' .. id, ws)
    end
  end)
end

--- Describes an error about a provider, with the name that the list shows.
---@param o agent_lsp.Offer
---@param problem string
local function describe(o, problem)
  local text, start = failure.setup_text(problem), ('The API key of %s '):format(o.name)
  if vim.startswith(text, start) then
    text = ('The API key for %s '):format(o.short or o.title) .. text:sub(#start + 1)
  end
  return text
end

--- Says why the provider's models could not be listed, and asks what to do.
---@param o agent_lsp.Offer
---@param ws agent_lsp.Workspace
---@param problem string
local function listing_failed(o, ws, problem)
  local choices = {}
  local function offer(text, act)
    table.insert(choices, { text = text, act = act })
  end
  if o.variable or o.optional then
    offer('Enter the key again', function()
      M.enter_key(o, ws)
    end)
  end
  if o.url then
    offer('Enter another URL', function()
      enter_address(o, ws)
    end)
  end
  offer('Enter a model id', function()
    enter_model(o, ws, '')
  end)
  vim.ui.select(choices, {
    prompt = describe(o, problem),
    kind = 'agent_lsp',
    format_item = function(choice)
      return choice.text
    end,
  }, function(choice)
    if choice then
      choice.act()
    end
  end)
end

--- Lets the user choose one of the provider's models, or enter a name if the provider lists none.
function choose_model(o, ws)
  client.request('agent/models', { provider = o.name }, function(err, res)
    if err then
      return listing_failed(o, ws, err)
    end
    local list = vim.tbl_filter(function(m)
      return belongs(o, m)
    end, res.models)
    if #list == 0 then
      return enter_model(o, ws, ('%s lists no models. '):format(o.short or o.title))
    end
    vim.ui.select(list, {
      prompt = 'Model from ' .. (o.short or o.title),
      format_item = models.entry,
      kind = 'agent_lsp',
    }, function(m)
      if m then
        use(o, m.id, ws)
      end
    end)
  end, { workspace = ws })
end

--- Passes the key to the binary, which stores it.
---@param after fun(o: agent_lsp.Offer, ws: agent_lsp.Workspace)
local function login(o, key, ws, after)
  local cmd, problem = config.command()
  if not cmd then
    return log.tell(problem, vim.log.levels.ERROR)
  end
  local args = vim.list_extend(vim.list_slice(cmd), { 'login', o.name, '--stdin' })
  vim.system(args, { stdin = key .. '\n', text = true }, function(ended)
    vim.schedule(function()
      if ended.code ~= 0 then
        local why = vim.trim(ended.stderr or '')
        local instead = o.variable and ('\nset %s and restart Neovim'):format(o.variable) or ''
        return log.tell('the key was not stored: ' .. why .. instead, vim.log.levels.ERROR)
      end
      after(o, ws)
    end)
  end)
end

--- Asks the user for text without showing it. The function blocks, because vim.ui.input cannot hide
--- the text.
---@param prompt string
---@return string
function M.ask_secretly(prompt)
  local text = vim.fn.inputsecret(prompt)
  vim.cmd.redraw()
  return vim.trim(text)
end

--- Asks for the key without showing it.
---@param o agent_lsp.Offer
---@param ws agent_lsp.Workspace
---@param after? fun(o: agent_lsp.Offer, ws: agent_lsp.Workspace) default: the user chooses a model
function M.enter_key(o, ws, after)
  after = after or choose_model
  local from_environment = o.variable and (vim.env[o.variable] or '') ~= ''
  local aside = ' (not shown'
  if from_environment then
    aside = aside .. ('; leave empty to use %s'):format(o.variable)
  elseif o.optional or not o.variable then
    aside = aside .. '; leave empty for none'
  end
  local key = M.ask_secretly(('Key for %s%s): '):format(o.short or o.title, aside))
  if key ~= '' then
    return login(o, key, ws, after)
  elseif from_environment or not o.variable then
    return after(o, ws)
  end
  log.tell('no key was entered; nothing changed')
end

local function after_address(o, ws)
  if o.variable or o.optional then
    return M.enter_key(o, ws)
  end
  choose_model(o, ws)
end

--- Asks for a provider's URL if the user may change it.
function enter_address(o, ws)
  if not o.url then
    return after_address(o, ws)
  end
  local prompt = ('URL of %s%s: '):format(o.short or o.title, o.example or '')
  vim.ui.input({ prompt = prompt, default = o.url }, function(url)
    url = vim.trim(url or '')
    if not url:match('^https?://.') then
      return log.tell('the URL must begin with http:// or https://; nothing changed')
    end
    local problem = userfile.set_provider(o.name, url)
    if problem then
      return log.tell(problem, vim.log.levels.WARN)
    end
    after_address(o, ws)
  end)
end

--- Describes what the setup of a provider needs.
---@param o agent_lsp.Offer
local function needs(o)
  if o.variable and (vim.env[o.variable] or '') ~= '' then
    return 'key in ' .. o.variable
  elseif o.variable then
    return o.url and 'needs a URL and a key' or 'needs a key'
  end
  return o.optional and 'needs a URL, and often a key' or 'needs no key'
end

--- Begins the setup.
function M.start()
  local ws = client.workspace()
  vim.ui.select(offers, {
    prompt = 'Choose a provider',
    kind = 'agent_lsp',
    format_item = function(o)
      return ('%s  (%s)'):format(o.title, needs(o))
    end,
  }, function(o)
    if o then
      enter_address(o, ws)
    end
  end)
end

--- Returns the setup offer for the provider of a model reference or a URL.
local function offer_of(ref, url)
  local host = url:match('^%w+://([^/:]+)') or url
  for _, o in ipairs(offers) do
    local known = o.url ~= '' and o.url and vim.startswith(url, o.url)
    known = known or o.variable and host:find(o.host or o.name, 1, true)
    if vim.startswith(ref, o.name .. '/') or known then
      return o
    end
  end
end

--- Asks for another key for the provider of the session's model, then tests it.
---@param ws agent_lsp.Workspace
function M.change_key(ws)
  models.current(ws, function(ref)
    client.request('agent/status', {}, function(err, res)
      local o = not err and offer_of(ref or '', res.provider.baseUrl or '')
      if not o then
        return M.start()
      end
      M.enter_key(o, ws, function()
        use(o, ref or res.provider.model, ws, true)
      end)
    end, { workspace = ws })
  end)
end

--- Reports whether the daemon has answered that no provider is configured.
function M.is_missing()
  return missing
end

--- Asks a workspace's daemon whether a provider is configured.
---@param ws agent_lsp.Workspace
function M.look(ws)
  if client.asks(ws) then
    return -- opening the panel must not ask the user about the folder
  end
  client.request('agent/status', {}, function(err, res)
    if err then
      return
    end
    local chosen = config.session_config().model or ws.demo
    missing = not (res.provider.configured or chosen)
    transcript.touch_footer()
  end, { workspace = ws })
end

return M
