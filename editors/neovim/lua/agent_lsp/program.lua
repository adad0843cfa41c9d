--- Offers the user ways to continue if the program was not found: enter its path, or open the
--- download page.
local config = require('agent_lsp.config')
local log = require('agent_lsp.log')

local M = {}

M.page = 'https://github.com/agent-lsp/agent-lsp/releases'

--- The transcript keys that help if the program was not found.
M.actions = {
  { 'L', 'locate the agent-lsp program on this machine' },
  { 'O', 'open its download page' },
}

local missing = false

--- Reports whether the last start failed to find the program.
function M.is_missing()
  return missing
end

--- Records whether the program was found.
---@param value boolean
function M.set_missing(value)
  if value ~= missing then
    missing = value
    require('agent_lsp.transcript').touch_footer()
  end
end

--- Uses a file as the program if it is agent-lsp.
local function try(path)
  path = vim.fn.expand(path)
  if vim.fn.executable(path) == 0 then
    return log.tell(path .. ' is not an executable program', vim.log.levels.WARN)
  end
  vim.system({ path, 'version' }, { text = true }, function(ended)
    vim.schedule(function()
      if ended.code ~= 0 or not (ended.stdout or ''):find('agent-lsp', 1, true) then
        return log.tell(path .. ' is not the agent-lsp program', vim.log.levels.WARN)
      end
      local problem = config.store_program(path)
      if problem then
        return log.tell('the path was not saved: ' .. problem, vim.log.levels.WARN)
      end
      M.set_missing(false)
      log.tell(('%s will be used from now on'):format(vim.trim(ended.stdout)))
    end)
  end)
end

--- Asks the user for the program's path.
function M.locate()
  vim.ui.input({ prompt = 'Path to agent-lsp: ', completion = 'file' }, function(path)
    path = vim.trim(path or '')
    if path ~= '' then
      try(path)
    end
  end)
end

--- Opens the download page.
function M.download()
  local _, problem = vim.ui.open(M.page)
  if problem then
    log.tell(('open %s in a browser'):format(M.page))
  end
end

return M
