--- Settings that the user chose in a picker, for the current session or as the default for new
--- sessions. A file of the plugin stores the defaults, and each new session receives them as its
--- own settings. They never override a setting from setup().
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

--- Sets a setting of the current session.
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

--- Sets a setting in this session and as the default for new ones.
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

--- Asks the user whether a setting applies to this session or to all new ones, and sets it.
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
