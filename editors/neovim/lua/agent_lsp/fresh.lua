--- Tracks whether the editor's language servers have reported on a buffer's current text. Neovim's
--- diagnostics do not name the text that they belong to. An answer about diagnostics therefore
--- waits, for a limited time, until each server has reported:
---
--- - A server that answers requests (pull diagnostics, or gopls's command that checks all files)
---   has answered.
--- - A server that publishes with versions has published for the current version or a newer one.
--- - A server that publishes without versions has published since the agent changed the text, or
---   has been silent for a while. Some servers do not report again that a file has no problems.
local lsp = require('agent_lsp.lsp')

local M = {}

--- The default time in milliseconds that an answer waits for servers.
local longest = 3000
--- The time in milliseconds without a publication after which servers are considered to have
--- finished. Servers publish the diagnostics for other files after those for the changed file.
local calm = 100
--- The time in milliseconds after which silence counts as an answer from a server that sends no
--- versions.
local silence = 1000
--- The time in milliseconds after which silence counts as an answer from a server that has never
--- published diagnostics. Such a server may never publish any.
local never_heard = 250

--- The command that makes gopls check all files immediately. Without it, gopls waits a second
--- before it checks the other files.
local look_now = 'gopls.diagnose_files'

---@class agent_lsp.Awaited a report that is expected from a server
---@field how 'command'|'pull'|'push'
---@field asked boolean

local awaited = {} ---@type table<integer, table<integer, agent_lsp.Awaited>> by buffer and client
local heard = {} ---@type table<integer, table<string, integer>> last published versions by client and file; 0 if the server sends none
local versions = {} ---@type table<integer, boolean> clients that publish with versions
local calm_at = 0 -- when the servers are considered to have finished

---@class agent_lsp.Waiter
---@field co thread
local waiting = {} ---@type agent_lsp.Waiter[]

--- Returns a buffer's servers except agent-lsp.
---@param buf integer
local function servers(buf)
  return vim.tbl_filter(function(c)
    return c.name ~= 'agent_lsp'
  end, vim.lsp.get_clients({ bufnr = buf }))
end

--- Reports whether one of the editor's servers handles a buffer.
---@param buf integer
function M.has_server(buf)
  return vim.api.nvim_buf_is_loaded(buf) and #servers(buf) > 0
end

local function how_to_know(c, buf)
  local commands = vim.tbl_get(c.server_capabilities or {}, 'executeCommandProvider', 'commands')
    or {}
  if vim.list_contains(commands, look_now) then
    return 'command'
  end
  return lsp.supports(c, 'textDocument/diagnostic', buf) and 'pull' or 'push'
end

local function await_server(c, buf)
  awaited[buf] = awaited[buf] or {}
  awaited[buf][c.id] = { how = how_to_know(c, buf), asked = false }
end

local function done_with(buf, id)
  if awaited[buf] then
    awaited[buf][id] = nil
    awaited[buf] = next(awaited[buf]) and awaited[buf] or nil
  end
end

--- Records that the agent changed a buffer's text.
---@param buf integer
function M.expect(buf)
  for _, c in ipairs(servers(buf)) do
    await_server(c, buf)
  end
end

--- Records the servers that have not yet reported on a buffer's current text, regardless of what
--- changed the text.
---@param buf integer
local function expect_if_behind(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  for _, c in ipairs(servers(buf)) do
    local version = versions[c.id] and heard[c.id][name]
    if
      how_to_know(c, buf) ~= 'push' or version and version < (vim.lsp.util.buf_versions[buf] or 0)
    then
      await_server(c, buf)
    end
  end
end

local function over()
  return not next(awaited) and vim.uv.now() >= calm_at
end

local function resume(waiter, settled)
  waiting = vim.tbl_filter(function(w)
    return w ~= waiter
  end, waiting)
  coroutine.resume(waiter.co, settled)
end

--- Resumes the waiting coroutines when no report is awaited and the servers have finished.
local function wake()
  if #waiting == 0 or next(awaited) then
    return
  end
  vim.defer_fn(function()
    for _, w in ipairs(over() and waiting or {}) do
      resume(w, true)
    end
  end, math.max(0, calm_at - vim.uv.now()))
end

--- Requests a buffer's diagnostics from one client, with a pull request or a command.
local function ask(buf, c, a)
  a.asked = true
  local method, params =
    'textDocument/diagnostic', { textDocument = { uri = vim.uri_from_bufnr(buf) } }
  if a.how == 'command' then
    method, params =
      'workspace/executeCommand',
      { command = look_now, arguments = { { Files = { vim.uri_from_bufnr(buf) } } } }
  end
  local sent = lsp.request(c, method, params, function(err, result, ctx)
    if a.how == 'pull' then
      pcall(vim.lsp.handlers[method], err, result, ctx)
    end
    if awaited[buf] and awaited[buf][c.id] == a then
      done_with(buf, c.id)
    end
    -- If the buffer's only server has answered the command, all servers have finished.
    calm_at = a.how == 'command' and #servers(buf) == 1 and 0 or calm_at
    wake()
  end, buf)
  if not sent then
    done_with(buf, c.id)
  end
end

local function ask_all()
  for buf, clients in pairs(awaited) do
    for id, a in pairs(clients) do
      local c = vim.lsp.get_client_by_id(id)
      if not c or not vim.api.nvim_buf_is_valid(buf) then
        done_with(buf, id)
      elseif a.how ~= 'push' and not a.asked then
        ask(buf, c, a)
      end
    end
  end
end

--- Also pulls diagnostics for the awaited servers' other documents, because the change may have
--- broken these documents.
local function ask_others()
  local pulled = {}
  for _, clients in pairs(awaited) do
    for id, a in pairs(clients) do
      pulled[id] = pulled[id] or a.how == 'pull'
    end
  end
  for id, pull in pairs(pulled) do
    local c = pull and vim.lsp.get_client_by_id(id)
    local alone = c
      and vim.tbl_get(c.server_capabilities or {}, 'diagnosticProvider', 'interFileDependencies')
        == false
    for buf in pairs(c and not alone and c.attached_buffers or {}) do
      if not (awaited[buf] and awaited[buf][id]) and vim.api.nvim_buf_is_loaded(buf) then
        await_server(c, buf)
      end
    end
  end
end

--- Stops waiting for servers that send no versions, because they may not report again that a file
--- has no problems.
local function take_silence()
  for buf, clients in pairs(awaited) do
    for id, a in pairs(clients) do
      if a.how == 'push' and not versions[id] then
        done_with(buf, id)
      end
    end
  end
  wake()
end

--- Returns how long to wait for servers that send no versions, or nil if none is awaited.
local function silence_of()
  local wait
  for _, clients in pairs(awaited) do
    for id, a in pairs(clients) do
      if a.how == 'push' and not versions[id] then
        wait = math.max(wait or 0, heard[id] and silence or never_heard)
      end
    end
  end
  return wait
end

local function give_up(waiter)
  if vim.list_contains(waiting, waiter) then
    awaited = {} -- the next caller does not wait for the same reports
    resume(waiter, false)
  end
end

--- Yields until the servers have reported on all changes, and returns whether they did.
---@param timeout? integer milliseconds
---@param buffers? integer[] further buffers on whose current text the servers must have reported
---@return boolean
function M.await(timeout, buffers)
  timeout = timeout or longest
  if timeout <= 0 then
    return not next(awaited)
  end
  for _, buf in ipairs(buffers or {}) do
    expect_if_behind(buf)
  end
  if over() then
    return true
  end
  ask_others()
  local waiter = { co = coroutine.running() }
  table.insert(waiting, waiter)
  vim.schedule(ask_all) -- an answer may arrive before this coroutine yields
  vim.defer_fn(function()
    give_up(waiter)
  end, timeout)
  local wait = silence_of()
  if wait then
    vim.defer_fn(take_silence, wait)
  end
  wake()
  return coroutine.yield()
end

--- Records that a server has published diagnostics for a file. version is nil if the server sends
--- no version.
local function published(id, uri, version)
  local name = vim.uri_to_fname(uri)
  heard[id] = heard[id] or {}
  heard[id][name] = version or 0
  versions[id] = versions[id] or version ~= nil
  calm_at = vim.uv.now() + calm
  for buf, clients in pairs(awaited) do
    local a = clients[id]
    local mine = a
      and a.how == 'push'
      and vim.api.nvim_buf_is_valid(buf)
      and vim.api.nvim_buf_get_name(buf) == name
    if mine and (not version or version >= (vim.lsp.util.buf_versions[buf] or 0)) then
      done_with(buf, id)
    end
  end
  wake()
end

local method = 'textDocument/publishDiagnostics'
local stock = vim.lsp.handlers[method]

--- Wraps Neovim's handler to record the versions, because the diagnostics that Neovim stores do not
--- include them.
vim.lsp.handlers[method] = function(err, params, ctx, conf) -- luacheck: ignore 122
  local c = vim.lsp.get_client_by_id(ctx.client_id)
  if params and c and c.name ~= 'agent_lsp' then
    local version = type(params.version) == 'number' and params.version or nil
    pcall(published, ctx.client_id, params.uri, version)
  end
  return stock(err, params, ctx, conf)
end

local group = vim.api.nvim_create_augroup('agent_lsp_fresh', { clear = true })

--- If the user has replaced the publishDiagnostics handler, this event is the only sign that the
--- server has published diagnostics.
vim.api.nvim_create_autocmd('DiagnosticChanged', {
  group = group,
  callback = function(args)
    for id, a in pairs(awaited[args.buf] or {}) do
      if a.how == 'push' and not versions[id] then
        done_with(args.buf, id)
      end
    end
    if #waiting > 0 then
      calm_at = math.max(calm_at, vim.uv.now() + calm)
      wake()
    end
  end,
})

vim.api.nvim_create_autocmd('LspDetach', {
  group = group,
  callback = function(args)
    done_with(args.buf, args.data.client_id)
    wake()
  end,
})

return M
