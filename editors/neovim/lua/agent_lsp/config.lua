--- The plugin's settings. Calling setup() is optional.
local M = {}

---@class agent_lsp.Keys keys in buffers with pending hunks; false leaves a key unmapped
---@field accept? string|false
---@field reject? string|false
---@field edit? string|false
---@field comment? string|false
---@field next? string|false
---@field previous? string|false

---@class agent_lsp.Options
---@field cmd? string[] the daemon's command; the default is the bundled binary or agent-lsp on PATH
---@field settings? agent_lsp.Config the daemon's settings (docs/reference/configuration.md)
---@field root_markers? string[] names of files that mark a workspace's root
---@field panel? { side: 'right'|'left', width: integer, input_height: integer }
---@field review? { signs: boolean, keys: agent_lsp.Keys|boolean, virtual: boolean }
---@field notify? boolean whether to notify the user when a turn ends that the panel does not show
---@field position_encodings? string[] the encodings that the client offers, in order of preference
M.defaults = {
  cmd = nil,
  settings = {},
  root_markers = {
    '.agent-lsp.json',
    '.git',
    'AGENTS.md',
    'go.mod',
    'package.json',
    'Cargo.toml',
    'pyproject.toml',
  },
  panel = { side = 'right', width = 60, input_height = 5 },
  review = {
    signs = true,
    keys = {
      accept = 'gla',
      reject = 'glr',
      edit = 'gle',
      comment = 'glc',
      next = ']h',
      previous = '[h',
    },
    virtual = true,
  },
  notify = true,
  position_encodings = { 'utf-8', 'utf-16' },
}

---@type agent_lsp.Options
M.options = vim.deepcopy(M.defaults)

---@param opts? agent_lsp.Options
function M.set(opts)
  M.options = vim.tbl_deep_extend('force', vim.deepcopy(M.defaults), opts or {})
  if M.options.review.keys == true then
    M.options.review.keys = vim.deepcopy(M.defaults.review.keys)
  end
end

local function state_path(name)
  return vim.fn.stdpath('state') .. '/agent_lsp/' .. name
end

--- Returns the content of one of the plugin's own files, or "" if the file does not exist.
local function read(name)
  local file = io.open(state_path(name), 'r')
  local text = file and file:read('*a') or ''
  if file then
    file:close()
  end
  return text
end

--- Replaces the content of one of the plugin's own files.
---@return string? problem
local function write(name, text)
  local path = state_path(name)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file, problem = io.open(path .. '.new', 'w')
  if not file then
    return problem
  end
  file:write(text)
  file:close()
  local ok, err = vim.uv.fs_rename(path .. '.new', path)
  return not ok and err or nil
end

--- Stores the program's path.
---@param path string
---@return string? problem
function M.store_program(path)
  return write('program', path)
end

--- Returns the defaults that the user chose in the pickers.
---@return table<string, any>
function M.stored()
  local ok, value = pcall(vim.json.decode, read('defaults.json'))
  return ok and type(value) == 'table' and value or {}
end

--- Stores the user's defaults.
---@param values table<string, any>
---@return string? problem
function M.store(values)
  return write('defaults.json', vim.json.encode(values))
end

--- Returns the user's choices for new sessions, except the values that setup() sets.
---@return table<string, any>
function M.session_config()
  local out = vim.empty_dict()
  for key, value in pairs(M.stored()) do
    if M.options.settings[key] == nil then
      out[key] = value
    end
  end
  return out
end

--- Returns the settings of the next session, as far as they are known without the daemon.
---@return agent_lsp.Config
function M.next_session()
  return vim.tbl_extend('force', M.options.settings, M.session_config())
end

--- Returns this plugin's folder. Symbolic links are resolved, because a package folder may contain
--- a link to the plugin.
function M.plugin_dir()
  local dir = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h:h')
  return vim.fs.normalize(vim.uv.fs_realpath(dir) or dir)
end

--- Returns the daemon's command. The program comes from the settings, the plugin's own folder or
--- repository, PATH, or the path that the user gave.
---@return string[]? cmd
---@return string? problem what to do if there is no command
function M.command()
  local cmd = M.options.cmd
  if cmd and not (type(cmd) == 'table' and type(cmd[1]) == 'string') then
    return nil, 'the cmd setting must be a list, such as { "agent-lsp" }'
  elseif cmd then
    if vim.fn.executable(M.options.cmd[1]) == 0 then
      return nil, ('%s from the cmd setting is not an executable program'):format(M.options.cmd[1])
    end
    return M.options.cmd
  end
  local plugin = M.plugin_dir()
  for _, dir in ipairs({ plugin, vim.fs.dirname(vim.fs.dirname(plugin)) }) do
    local bundled = dir .. '/bin/agent-lsp' -- the binary in the plugin or in its repository
    if vim.fn.executable(bundled) == 1 then
      return { bundled }
    end
  end
  if vim.fn.executable('agent-lsp') == 1 then
    return { 'agent-lsp' }
  end
  local located = read('program')
  if located ~= '' and vim.fn.executable(located) == 1 then
    return { located }
  end
  return nil, 'the agent-lsp program was not found next to the plugin or on PATH'
end

return M
