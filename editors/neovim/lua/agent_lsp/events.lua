--- Delivers events to the plugin's own modules, to other plugins (on) and to users (User
--- autocommands).
local M = {}

local listeners = {} ---@type table<string, fun(params: table)[]>

--- Calls fn for each event with the given name. The name is a method without agent/
--- ('turn/completed', 'delta' …), the name of one of the plugin's own events ('session', 'review'
--- …), or '*' for all events.
---@param name string
---@param fn fun(params: table, name: string)
---@return fun() off
function M.on(name, fn)
  listeners[name] = listeners[name] or {}
  table.insert(listeners[name], fn)
  return function()
    listeners[name] = vim.tbl_filter(function(f)
      return f ~= fn
    end, listeners[name])
  end
end

--- Returns the autocommand pattern for an event. For example, 'turn/completed' becomes
--- AgentLspTurnCompleted.
---@param name string
function M.pattern(name)
  local words = vim.split(name, '/', { plain = true })
  return 'AgentLsp'
    .. table.concat(vim.tbl_map(function(w)
      return w:sub(1, 1):upper() .. w:sub(2)
    end, words))
end

--- The events that only Lua listeners receive. Deltas are too frequent for autocommands.
local quiet = { delta = true }

---@param name string
---@param params table
function M.emit(name, params)
  for _, key in ipairs({ name, '*' }) do
    for _, fn in ipairs(listeners[key] or {}) do
      local ok, err = pcall(fn, params, name)
      if not ok then
        require('agent_lsp.log').error(('listener for %s: %s'):format(name, err))
      end
    end
  end
  if not quiet[name] then
    vim.api.nvim_exec_autocmds(
      'User',
      { pattern = M.pattern(name), modeline = false, data = params }
    )
  end
end

return M
