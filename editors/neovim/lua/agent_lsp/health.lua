--- :checkhealth agent_lsp
local M = {}

function M.check()
  local h = vim.health
  h.start('agent-lsp')
  if vim.fn.has('nvim-0.10') == 0 then
    return h.error('Neovim 0.10 or newer is needed')
  end
  local cmd, problem = require('agent_lsp.config').command()
  if not cmd then
    return h.error(problem)
  end
  h.ok('binary: ' .. vim.fn.exepath(cmd[1]))
  local version = vim.system({ cmd[1], 'version' }, { text = true }):wait(5000)
  if version.code ~= 0 then
    return h.error(('%s version fails: %s'):format(cmd[1], version.stderr))
  end
  h.ok('version: ' .. vim.trim(version.stdout))
  local doctor = vim.system({ cmd[1], 'doctor' }, { text = true }):wait(20000)
  for _, line in ipairs(vim.split(vim.trim(doctor.stdout or ''), '\n')) do
    h.info(line)
  end
  local root = require('agent_lsp.client').root()
  h.info('workspace root: ' .. root)
end

return M
