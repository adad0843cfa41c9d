--- The plugin's log, beside Neovim's own.
local M = {}

M.path = vim.fn.stdpath('log') .. '/agent-lsp.log'

local function write(level, text)
  local f = io.open(M.path, 'a')
  if f then
    f:write(os.date('%Y-%m-%dT%H:%M:%S '), level, ' ', text, '\n')
    f:close()
  end
end

function M.info(text)
  write('INFO', text)
end

function M.error(text)
  write('ERROR', text)
end

--- Tells the user. Errors also go to the log.
---@param text string
---@param level? integer vim.log.levels
function M.tell(text, level)
  level = level or vim.log.levels.INFO
  if level >= vim.log.levels.WARN then
    M.error(text)
  end
  vim.schedule(function()
    vim.notify('agent-lsp: ' .. text, level)
  end)
end

return M
