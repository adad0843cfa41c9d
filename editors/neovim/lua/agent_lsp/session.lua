--- Manages the current session of each workspace: creates it, loads it and shows it.
local client = require('agent_lsp.client')
local config = require('agent_lsp.config')
local events = require('agent_lsp.events')
local log = require('agent_lsp.log')

local M = {}

local shown ---@type string? the session that was last reported as the current one

--- Creates a session and makes it current. Callers that request the session in the meantime receive
--- the same one.
---@param ws agent_lsp.Workspace
---@param title? string
local function make_session(ws, title)
  ws.session, ws.making = nil, true
  local cwd = vim.uri_from_fname(ws.root)
  local own = ws.demo and vim.empty_dict() or config.session_config()
  client.request('agent/session/new', { cwd = cwd, title = title, config = own }, function(err, res)
    local wanting = ws.wanting
    ws.making, ws.wanting = false, {}
    if err then
      log.tell(err, vim.log.levels.ERROR)
    else
      M.use(res.sessionId, ws, title, res.config)
    end
    for _, want in ipairs(wanting) do
      if not err then
        want.fn(res.sessionId, { workspace = ws })
      elseif want.failed then
        want.failed(err)
      end
    end
  end, { workspace = ws })
end

--- Makes a stored session current. The daemon replays it.
---@param session string
---@param ws agent_lsp.Workspace
function M.load(session, ws)
  M.use(session, ws)
  client.request('agent/session/load', { sessionId = session, replay = true }, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    events.emit('session/updated', vim.tbl_extend('force', { client_id = ws.id }, res.session))
    require('agent_lsp.recall').run(session, ws)
  end, { workspace = ws })
end

--- Shows a workspace's session if it has one that is not shown yet. The daemon replays the session.
---@param ws agent_lsp.Workspace
function M.show(ws)
  if not ws.session or shown == ws.session then
    return
  end
  M.load(ws.session, ws)
end

--- Calls fn with the workspace's current session and the workspace to which requests are sent. It
--- creates a session if there is none. If that fails, it shows the error to the user and calls
--- failed.
---@param fn fun(session: string, at: agent_lsp.At)
---@param ws? agent_lsp.Workspace
---@param failed? fun(err: string)
function M.get(fn, ws, failed)
  ws = ws or client.workspace()
  if ws.session then
    M.show(ws)
    return fn(ws.session, { workspace = ws })
  end
  table.insert(ws.wanting, { fn = fn, failed = failed })
  if not ws.making then
    make_session(ws)
  end
end

--- Starts a new session in the workspace.
---@param title? string
function M.new(title)
  make_session(client.workspace(), title)
end

--- Makes a session current.
---@param session string?
---@param ws? agent_lsp.Workspace
---@param title? string
---@param own? agent_lsp.Config the settings of a new session
function M.use(session, ws, title, own)
  ws = ws or client.workspace()
  ws.session, shown = session, session
  client.set_current(ws)
  events.emit('session', { sessionId = session, title = title, config = own })
end

return M
