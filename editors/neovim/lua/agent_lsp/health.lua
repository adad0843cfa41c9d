--- Implements :checkhealth agent_lsp.
local M = {}

--- Advice for a user without a provider. It precedes the daemon's own advice, which names variables
--- of the shell.
local without_provider = {
  'choose a provider and a model with `:AgentSetup`',
  'try the agent without a provider with `:AgentDemo`',
}

--- Shows the lines of the daemon's own report. A last line that begins with "next:" contains advice
--- about the line before it.
local function tell(text, ready)
  local h = vim.health
  local lines = vim.split(vim.trim(text), '\n')
  local advice = not ready and lines[#lines]:match('^next: (.*)')
  for i, line in ipairs(lines) do
    if advice and i == #lines - 1 then
      local own = vim.startswith(line, 'provider: none') and vim.list_slice(without_provider) or {}
      h.warn(line, vim.list_extend(own, { advice }))
    elseif ready and vim.startswith(line, 'next: ') then
      -- The daemon's own advice names a shell command.
      h.ok('ready: use `:AgentPrompt` to prompt the agent')
    elseif not advice or i < #lines then
      h.info(line)
    end
  end
end

function M.check()
  local h = vim.health
  h.start('agent-lsp')
  if vim.fn.has('nvim-0.10') == 0 then
    return h.error('Neovim 0.10 or newer is required')
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
  tell(doctor.stdout or '', doctor.code == 0)
  h.info('workspace root: ' .. require('agent_lsp.client').root())
end

return M
