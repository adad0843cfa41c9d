--- Runs one daemon per workspace root with Neovim's own LSP client. A daemon starts when it is
--- first used. After a crash it is restarted and resumes its session.
local config = require('agent_lsp.config')
local events = require('agent_lsp.events')
local log = require('agent_lsp.log')
local lsp = require('agent_lsp.lsp')
local peek = require('agent_lsp.peek')
local process = require('agent_lsp.process')
local rename = require('agent_lsp.rename')
local wide = require('agent_lsp.wide')

local M = {}

local new_api = vim.fn.has('nvim-0.11') == 1

--- The maximum number of consecutive crashes after which the daemon is restarted automatically.
local max_crashes = 3

---@class agent_lsp.Workspace
---@field root string
---@field id? integer LSP client id
---@field session? string current session
---@field waiting fun(client: vim.lsp.Client?, err?: string)[]
---@field wanting { fn: fun(session: string, at: agent_lsp.At), failed?: fun(err: string) }[]
---@field making boolean whether a session is being created
---@field starting boolean
---@field stopped boolean whether the daemon was stopped on purpose
---@field crashes integer
---@field scope? 'open'|'all' the user's choice for a home folder or the root of the file system
---@field demo? table<string, string> environment of the demo's daemon, which gets no settings
local workspaces = {} ---@type table<string, agent_lsp.Workspace>
local current ---@type agent_lsp.Workspace? the workspace whose session the panel shows

---@class agent_lsp.At the target of a request, independent of the user's current buffer
---@field workspace agent_lsp.Workspace

local notifications = {
  'agent/session/updated',
  'agent/turn/started',
  'agent/turn/completed',
  'agent/item/started',
  'agent/item/updated',
  'agent/item/completed',
  'agent/delta',
  'agent/retry',
  'agent/compaction',
  'agent/proposal/created',
  'agent/proposal/updated',
  'agent/proposal/closed',
  'agent/request/resolved',
}

--- Reports whether a buffer contains one of the user's files. The file may not exist on disk yet.
local function is_document(buf)
  return vim.api.nvim_buf_is_valid(buf)
    and vim.bo[buf].buftype == ''
    and vim.api.nvim_buf_get_name(buf) ~= ''
end

--- Returns a workspace's folders: its root and the folders that the user added.
local function folders(ws)
  local out, client = { ws.root }, ws.id and vim.lsp.get_client_by_id(ws.id)
  for _, f in ipairs(client and client.workspace_folders or {}) do
    table.insert(out, vim.fs.normalize(vim.uri_to_fname(f.uri)))
  end
  return out
end

--- Returns the running workspace that contains a buffer. If several do, it returns the innermost
--- one.
---@return agent_lsp.Workspace?
local function around(buf)
  local name, best, depth = vim.fs.normalize(vim.api.nvim_buf_get_name(buf)), nil, 0
  for _, ws in pairs(workspaces) do
    for _, dir in ipairs((ws.id or ws.demo) and folders(ws) or {}) do
      if #dir > depth and vim.startswith(name, dir == '/' and dir or dir .. '/') then
        best, depth = ws, #dir
      end
    end
  end
  return best
end

--- Returns the root of a buffer's workspace. For the panel and other windows without a file, it
--- returns the root of the workspace that they show.
---@param buf? integer
---@return string
function M.root(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  local root
  if is_document(buf) then
    local ws = around(buf) -- a folder inside a running workspace belongs to that workspace
    if ws then
      return ws.root
    end
    root = vim.fs.root(buf, config.options.root_markers)
  elseif current then
    return current.root
  end
  root = root or vim.fs.root(vim.fn.getcwd(), config.options.root_markers) or vim.fn.getcwd()
  return vim.fs.normalize(root)
end

--- Returns the workspace with the given root, and creates it if necessary.
---@param root string
---@return agent_lsp.Workspace
function M.add(root)
  workspaces[root] = workspaces[root]
    or {
      root = root,
      waiting = {},
      wanting = {},
      starting = false,
      stopped = false,
      making = false,
      crashes = 0,
    }
  return workspaces[root]
end

---@param buf? integer
---@return agent_lsp.Workspace
function M.workspace(buf)
  local ws = M.add(M.root(buf))
  current = current or ws
  return ws
end

--- Returns the user's current workspace: the buffer's workspace if it has a session, otherwise the
--- workspace that the panel shows.
---@return agent_lsp.Workspace?
function M.here()
  local ws = M.workspace()
  return ws.session and ws or current
end

--- Returns the number of workspaces whose daemon is running.
---@return integer
function M.count()
  return vim.iter(pairs(workspaces)):fold(0, function(n, _, ws)
    return ws.id and n + 1 or n
  end)
end

--- Returns the workspace whose session is shown, or nil.
---@return agent_lsp.Workspace?
function M.current()
  return current
end

--- Makes ws the current workspace, whose session the panel shows.
---@param ws agent_lsp.Workspace
function M.set_current(ws)
  current = ws
end

---@param id integer
---@return agent_lsp.Workspace?
function M.by_id(id)
  for _, ws in pairs(workspaces) do
    if ws.id == id then
      return ws
    end
  end
end

local function capabilities(ws)
  local caps = vim.lsp.protocol.make_client_capabilities()
  caps.experimental = {
    agentLsp = {
      version = 1,
      permission = true,
      ask = true,
      editor = { query = true, save = true, reveal = true, showDiff = true },
      wholeFolders = ws.scope == 'all',
    },
  }
  caps.general = caps.general or {}
  caps.general.positionEncodings = config.options.position_encodings
  return caps
end

--- Discards the daemon's diagnostics. They are meant for clients that cannot draw hunks, but this
--- plugin draws hunks itself.
local function ignore() end

--- Shows a message that belongs to no session. Neovim's own handler would show it in full, and a
--- long message causes the "Press ENTER" prompt.
local function show_message(_, params)
  local types, levels = vim.lsp.protocol.MessageType, vim.log.levels
  local level = ({ [types.Error] = levels.ERROR, [types.Warning] = levels.WARN })[params.type]
  log.tell((params.message:gsub('^agent%-lsp: ', '')), level)
end

local function handlers()
  local out = {
    ['textDocument/publishDiagnostics'] = ignore,
    ['window/showMessage'] = show_message,
  }
  for _, method in ipairs(notifications) do
    local name = method:sub(#'agent/' + 1)
    out[method] = function(_, params, ctx)
      params.client_id = ctx.client_id
      events.emit(name, params)
    end
  end
  out['agent/requestPermission'] = require('agent_lsp.permission').handle
  out['agent/ask'] = require('agent_lsp.permission').ask
  for method, fn in pairs(require('agent_lsp.editor').handlers) do
    out[method] = fn
  end
  out['workspace/applyEdit'] = require('agent_lsp.edit').handle
  return out
end

local function attach(ws, buf)
  if
    ws.id
    and is_document(buf)
    and vim.api.nvim_buf_is_loaded(buf)
    and around(buf) == ws
    and not peek.is(buf)
  then
    vim.lsp.buf_attach_client(buf, ws.id)
  end
end

local function attach_all(ws)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    attach(ws, buf)
  end
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
    group = vim.api.nvim_create_augroup('agent_lsp_attach_' .. ws.root, { clear = true }),
    callback = function(args)
      attach(ws, args.buf)
    end,
  })
end

--- When the user adds a folder to a workspace, attaches the daemon to the open documents in that
--- folder.
vim.api.nvim_create_autocmd('LspNotify', {
  group = vim.api.nvim_create_augroup('agent_lsp_folders', { clear = true }),
  callback = function(args)
    local ws = args.data.method == 'workspace/didChangeWorkspaceFolders'
      and M.by_id(args.data.client_id)
    if ws then
      vim.schedule(function() -- the client updates its folders only after the notification
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          attach(ws, buf)
        end
      end)
    end
  end,
})

local function attach_anywhere(buf)
  for _, ws in pairs(workspaces) do
    attach(ws, buf)
  end
end

peek.on_adopt(attach_anywhere)
rename.watch(function(buf, id)
  local ws = around(buf)
  return ws ~= nil and ws.id == id
end, attach_anywhere)

local function finish(ws, client, err)
  ws.starting = false
  local waiting = ws.waiting
  ws.waiting = {}
  for _, fn in ipairs(waiting) do
    fn(client, err)
  end
end

--- Restarts a crashed daemon and resumes its session.
local function resume(ws)
  M.with(function(client)
    if client and ws.session then
      M.request(
        'agent/session/load',
        { sessionId = ws.session, replay = true },
        nil,
        { workspace = ws }
      )
    end
  end, { workspace = ws })
end

--- Handles the end of a daemon's process. It restarts a daemon that crashed and resumes its
--- session, unless the daemon keeps crashing.
local function on_exit(ws, id, ended)
  if ws.starting then
    ws.id = nil
    return finish(
      ws,
      nil,
      ended.refused
        or ('it stopped during startup (%s); see :AgentLog'):format(process.ending(ended))
    )
  end
  if ws.id ~= id then
    return
  end
  ws.id = nil
  events.emit(
    'exit',
    { client_id = id, sessionId = ws.session, code = ended.code, signal = ended.signal }
  )
  if ws.stopped or vim.v.exiting ~= vim.NIL then
    return
  end
  ws.crashes = ws.crashes + 1
  if ws.crashes > max_crashes then
    return log.tell('the daemon keeps stopping; see :AgentLog', vim.log.levels.ERROR)
  end
  log.tell(
    ('the daemon stopped (%s) and is being restarted'):format(process.ending(ended)),
    vim.log.levels.WARN
  )
  resume(ws)
end

local function spec(ws, cmd)
  local start, ended = process.command(cmd, ws.demo, ws.root)
  local only_open = ws.scope == 'open' -- a server without a folder sees only the open documents
  local folder = { uri = vim.uri_from_fname(ws.root), name = vim.fs.basename(ws.root) }
  local settings = not ws.demo and config.options.settings or {}
  return {
    name = 'agent_lsp',
    cmd = start,
    root_dir = not only_open and ws.root or nil,
    workspace_folders = not only_open and { folder } or nil,
    capabilities = capabilities(ws),
    init_options = next(settings) and settings or vim.empty_dict(),
    handlers = handlers(),
    flags = { debounce_text_changes = 0 }, -- without a delay, the agent reads what the user sees
    on_init = function(client)
      ws.id = client.id
      vim.schedule(function()
        attach_all(ws)
        finish(ws, client)
        events.emit('ready', { client_id = client.id })
      end)
    end,
    on_exit = function(_, _, id)
      vim.schedule(function()
        on_exit(ws, id, ended)
      end)
    end,
  }
end

local function start(ws)
  local cmd, problem = config.command()
  require('agent_lsp.program').set_missing(cmd == nil)
  if not cmd then
    return finish(ws, nil, problem)
  end
  for _, part in ipairs({ 'panel', 'review', 'disk' }) do
    require('agent_lsp.' .. part) -- these modules listen to events
  end
  ws.starting, ws.stopped = true, false
  local id
  if new_api then
    local function never()
      return false
    end
    id = vim.lsp.start(spec(ws, cmd), { attach = false, reuse_client = never })
  else
    -- In Neovim 0.10, vim.lsp.start always attaches the current buffer.
    id = vim.lsp.start_client(spec(ws, cmd))
  end
  if not id then
    finish(ws, nil, ('%s could not be started'):format(cmd[1]))
  end
end

--- Reports whether the plugin asks the user before it starts a workspace's daemon.
---@param ws agent_lsp.Workspace
function M.asks(ws)
  return not (ws.scope or ws.demo) and wide.is(ws.root)
end

--- Calls fn with the workspace's client, and starts the client first if necessary. If the start
--- fails, it calls fn with nil and the error.
---@param fn fun(client: vim.lsp.Client?, err?: string)
---@param opts? { workspace?: agent_lsp.Workspace, buf?: integer }
function M.with(fn, opts)
  local ws = opts and opts.workspace or M.workspace(opts and opts.buf)
  local client = ws.id and vim.lsp.get_client_by_id(ws.id)
  if client and not ws.starting then
    return fn(client)
  end
  table.insert(ws.waiting, fn)
  if ws.starting then
    return
  elseif not M.asks(ws) then
    return start(ws)
  end
  ws.starting = true
  wide.ask(ws.root, function(scope)
    if not scope then
      return finish(ws, nil, 'no workspace was chosen; open a file in a project, or use :cd')
    end
    ws.scope = scope
    start(ws)
  end)
end

--- Returns the running client of the current workspace, or nil.
---@return vim.lsp.Client?
function M.running()
  local ws = current
  return ws and ws.id and vim.lsp.get_client_by_id(ws.id) or nil
end

local function report(err)
  if err then
    log.tell(err, vim.log.levels.WARN)
  end
end

--- Sends a request and calls fn with the error message (or nil) and the result. If fn is nil,
--- errors are shown to the user.
---@param method string
---@param params table
---@param fn? fun(err: string?, result: any, error?: lsp.ResponseError)
---@param opts? { buf?: integer, workspace?: agent_lsp.Workspace }
function M.request(method, params, fn, opts)
  fn = fn or report
  M.with(function(client, problem)
    if not client then
      return fn(problem or 'the daemon is not running')
    end
    local function answer(err, result)
      if err then
        return fn(err.message or tostring(err), nil, err)
      end
      fn(nil, result)
    end
    params = next(params) == nil and vim.empty_dict() or params
    lsp.request(client, method, params, answer)
  end, opts)
end

--- Stops all daemons.
function M.stop()
  for _, ws in pairs(workspaces) do
    ws.stopped = true
    local client = ws.id and vim.lsp.get_client_by_id(ws.id)
    if client then
      lsp.stop(client)
    end
  end
end

events.on('turn/completed', function(params)
  local ws = M.by_id(params.client_id)
  if ws then
    ws.crashes = 0
  end
end)

return M
