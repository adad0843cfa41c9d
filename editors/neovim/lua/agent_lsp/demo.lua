--- Runs the demo, in which a scripted model fixes a bug in a sample folder. The demo uses the real
--- panel and real hunks. It needs no API key or network, and has its own daemon, state folder and
--- settings.
local client = require('agent_lsp.client')
local config = require('agent_lsp.config')
local log = require('agent_lsp.log')

local M = {}

M.prompt = 'The check fails. Find the cause and fix it.'

local after = 'This was the demo. Its model is a script that can do only this task. '
  .. 'To choose a provider for your own work, use `:AgentSetup`.'

--- The number of prompts that the script answers after the first one.
local spare = 50

local function copy(from, to)
  local ok, problem = vim.uv.fs_copyfile(from, to)
  return not ok and problem or nil
end

--- Writes the model's script, with an answer for each later prompt.
local function write_script(from, to)
  local file, problem = io.open(from, 'r')
  if not file then
    return problem
  end
  local lines = file:read('*a') .. (vim.json.encode({ text = after }) .. '\n'):rep(spare)
  file:close()
  file, problem = io.open(to, 'w')
  if not file then
    return problem
  end
  file:write(lines)
  file:close()
end

--- Creates the sample folder and the files that the daemon needs.
---@param dir string
---@return string? problem
local function unpack_sample(dir)
  local sample, root = config.plugin_dir() .. '/demo', dir .. '/demo'
  vim.fn.mkdir(root, 'p')
  vim.fn.mkdir(dir .. '/state', 'p')
  local problem = write_script(sample .. '/model.jsonl', dir .. '/model.jsonl')
  for _, name in ipairs({ 'stats.sh', 'check.sh' }) do
    problem = problem or copy(sample .. '/' .. name, root .. '/' .. name)
  end
  return problem
end

--- Starts the demo in its own tab.
function M.start()
  local dir = vim.fs.normalize(vim.fn.tempname())
  local problem = unpack_sample(dir)
  if problem then
    return log.tell(('the demo cannot start: %s'):format(problem), vim.log.levels.ERROR)
  end
  dir = vim.fs.normalize(vim.uv.fs_realpath(dir))
  local ws = client.add(dir .. '/demo')
  ws.demo = {
    AGENT_LSP_SCRIPT = dir .. '/model.jsonl',
    XDG_STATE_HOME = dir .. '/state',
    XDG_CONFIG_HOME = dir .. '/state',
  }
  require('agent_lsp.review')
  vim.cmd.tabedit(vim.fn.fnameescape(ws.root .. '/stats.sh'))
  require('agent_lsp').prompt(M.prompt, { context = { uri = vim.uri_from_bufnr(0) } })
end

return M
