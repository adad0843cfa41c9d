--- Converts setting values and states to labels for the user.
local M = {}

M.status = {
  idle = 'ready',
  running = 'working',
  awaiting = 'waiting for you',
  paused = 'paused',
}

local edits = {
  ask = 'ask first',
  review = 'apply, undo later',
  collect = 'collect',
  auto = 'apply',
}

local commands = {
  readOnly = 'read-only',
  ask = 'ask',
  workspace = 'sandboxed',
  trust = 'trusted',
}

--- Returns a session's settings as text, the most important first. It omits settings that do not
--- fit.
---@param c agent_lsp.Config
---@param room integer columns
---@return string
function M.settings(c, room)
  local profile = type(c.permissions) == 'table' and c.permissions.profile
  local parts = {
    'Edits: ' .. (edits[c.editPolicy or 'ask'] or c.editPolicy),
    'Commands: ' .. (commands[profile or 'ask'] or profile),
  }
  if type(c.model) == 'string' and c.model ~= '' then
    table.insert(parts, 'Model: ' .. c.model)
  end
  while #parts > 1 and vim.api.nvim_strwidth(table.concat(parts, '  ')) > room do
    table.remove(parts)
  end
  return table.concat(parts, '  ')
end

return M
