--- The plugin's Lua API. Everything else is available as commands.
local M = {}

local config = require('agent_lsp.config')

--- Changes the plugin's settings. The call is optional.
---@param opts? agent_lsp.Options
function M.setup(opts)
  config.set(opts)
end

--- Returns the user's current document. In the panel, it is the last document that the user visited
--- in the panel's workspace.
local function document()
  local function is_document(buf)
    return vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
  end
  local here = vim.api.nvim_get_current_buf()
  if is_document(here) then
    return here
  end
  local best
  local root = require('agent_lsp.client').root
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    if
      is_document(info.bufnr)
      and root(info.bufnr) == root()
      and (not best or info.lastused > best.lastused)
    then
      best = info
    end
  end
  return best and best.bufnr
end

--- Returns the user's context: the document and the selection.
---@param range? { first: integer, last: integer } one-based lines
local function context(range)
  local buf = document()
  if not buf then
    return nil
  end
  local out = { uri = vim.uri_from_bufnr(buf) }
  if range then
    out.selection = {
      start = { line = range.first - 1, character = 0 },
      ['end'] = { line = range.last, character = 0 },
    }
  end
  return out
end

--- The error code for a prompt that was sent although no provider is configured.
local not_configured = 1006

--- Returns a callback that reports the error of a prompt and passes the error to fn.
local function said(fn)
  return function(err, res, raw)
    if raw and raw.code == not_configured then
      err = err .. '\n:AgentSetup sets up a provider. :AgentDemo shows the agent without one.'
    end
    if err then
      require('agent_lsp.log').tell(err, vim.log.levels.ERROR)
    end
    if fn then
      fn(err, res)
    end
  end
end

--- Prompts the current session. If a turn is running, the prompt is queued.
---@param text string|agent_lsp.ContentBlock[]
---@param opts? { delivery?: 'auto'|'queue', options?: agent_lsp.TurnOptions, range?: { first: integer, last: integer }, context?: table }
---@param fn? fun(err: string?, result: agent_lsp.PromptResult?)
function M.prompt(text, opts, fn)
  opts = opts or {}
  local client, panel = require('agent_lsp.client'), require('agent_lsp.panel')
  local ctx, once = opts.context or context(opts.range), require('agent_lsp.once')
  local options = opts.options or once.take()
  local back = said(fn)
  panel.open()
  require('agent_lsp.session').get(function(session, at)
    client.request('agent/prompt', {
      sessionId = session,
      prompt = text,
      delivery = opts.delivery,
      context = ctx,
      options = options,
    }, function(err, ...)
      once.restore(err and options)
      back(err, ...)
    end, at)
  end, nil, fn)
end

--- Sends a steer to the running turn, or starts a new turn if none is running.
---@param text string|agent_lsp.ContentBlock[]
---@param fn? fun(err: string?)
function M.steer(text, fn)
  local client = require('agent_lsp.client')
  require('agent_lsp.session').get(function(session, at)
    client.request('agent/steer', { sessionId = session, prompt = text }, said(fn), at)
  end, nil, fn)
end

--- Stops the running turn in a workspace without asking the user.
---@param ws agent_lsp.Workspace
local function stop(ws)
  local client, log = require('agent_lsp.client'), require('agent_lsp.log')
  client.request('agent/abort', { sessionId = ws.session }, function(err, res)
    if err then
      log.tell(err, vim.log.levels.WARN)
    elseif res.state == 'idle' then
      log.tell('no turn is running')
    end
  end, { workspace = ws })
end

--- Stops the running turn in the workspace of the user's current buffer, or in the workspace that
--- is shown. If that would discard undecided changes, it asks the user first and sends nothing
--- until the user confirms.
function M.abort()
  local client = require('agent_lsp.client')
  local log, ws = require('agent_lsp.log'), client.here()
  if not (ws and ws.id and ws.session) then
    return log.tell('no turn is running')
  end
  local count = require('agent_lsp.hunks').undecided(ws)
  if count == 0 then
    return stop(ws)
  end
  local those = ('%d %s'):format(count, count == 1 and 'change' or 'changes')
  vim.ui.select({ 'Keep reviewing', 'Stop and discard ' .. those }, {
    prompt = ('Stopping discards %s that you have not reviewed.'):format(those),
    kind = 'agent_lsp',
  }, function(_, n)
    if n == 2 then
      stop(ws)
    end
  end)
end

--- Calls fn for each event ('turn/completed', 'item/started', 'delta', …, '*'). It returns a
--- function that unsubscribes.
---@param name string
---@param fn fun(params: table, name: string)
function M.on(name, fn)
  return require('agent_lsp.events').on(name, fn)
end

--- Returns the statusline component: state, pending hunks and context.
function M.statusline()
  return package.loaded['agent_lsp.panel'] and require('agent_lsp.panel').statusline() or ''
end

return M
