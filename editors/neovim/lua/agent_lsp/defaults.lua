--- Applies settings that the user chooses in a picker to the current session, or stores them as
--- defaults for new sessions. The plugin stores the defaults in a file, and each new session
--- receives them as its own settings. A default never overrides a setting from setup().
local client = require('agent_lsp.client')
local config = require('agent_lsp.config')
local log = require('agent_lsp.log')

local M = {}

---@param key string
---@return boolean whether setup() sets it
function M.is_fixed(key)
  return config.options.settings[key] ~= nil
end

--- Stores a default.
---@param key string
---@param value any
local function keep(key, value)
  local all = config.stored()
  all[key] = value
  local problem = config.store(all)
  if problem then
    log.tell(('the default was not saved: %s'):format(problem), vim.log.levels.WARN)
  end
end

--- Changes a setting in the current session.
---@param key string
---@param value any
---@param text string message to the user
---@param ws? agent_lsp.Workspace
function M.set(key, value, text, ws)
  require('agent_lsp.session').get(function(session, at)
    local params = { sessionId = session, config = { [key] = value } }
    client.request('agent/session/configure', params, function(err)
      log.tell(err or text, err and vim.log.levels.WARN or nil)
    end, at)
  end, ws)
end

--- Changes a setting in the current session and makes the value the default for new sessions.
---@param key string
---@param value any
---@param name string the value's label
---@param ws? agent_lsp.Workspace
function M.make_default(key, value, name, ws)
  if M.is_fixed(key) then
    return M.set(key, value, name .. ', in this session; setup() sets the default', ws)
  end
  keep(key, value)
  M.set(key, value, name .. ', in this session and in new sessions', ws)
end

--- Applies a value. Asks the user whether the value is only for this session or also the default,
--- unless setup() sets the default.
---@param key string
---@param value any
---@param name string the value's label
---@param ws? agent_lsp.Workspace
---@param fn? fun(ws: agent_lsp.Workspace) called when the user has chosen
function M.choose(key, value, name, ws, fn)
  local choices = { 'Only in this session', 'Make this my default' }
  if M.is_fixed(key) then
    return M.make_default(key, value, name, ws)
  end
  vim.ui.select(choices, { prompt = name, kind = 'agent_lsp' }, function(_, n)
    if n == 2 then
      M.make_default(key, value, name, ws)
    elseif n == 1 then
      M.set(key, value, name .. ', in this session', ws)
    end
    if n and fn then
      fn(ws)
    end
  end)
end

return M
