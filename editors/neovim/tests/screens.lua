--- Runs the screens of scenes.lua in a real terminal (tmux), wide and narrow, light and dark. The
--- command is nvim -l screens.lua.
---
--- Each screen must eventually show the texts that its steps wait for. If SHOTS names a folder,
--- each screen is written to that folder as NAME-SIZE-BACKGROUND.ansi, and run.sh makes a picture
--- from it. NVIM is the Neovim to run. ONLY is a pattern for names, or "main" for one screen of
--- each state. SIZES lists sizes, such as "120x40 80x24".
local here =
  vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
package.path = here .. '/?.lua;' .. package.path
local catalog = require('scenes')

local deadline = 60000
local sizes = vim.env.SIZES or '120x40 80x24'
local shots = vim.env.SHOTS
local failed = {}

local function write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local f = assert(io.open(path, 'wb'))
  f:write(text)
  f:close()
end

--- Returns the model's script as lines of JSON.
local function script_of(steps)
  local lines = {}
  for _, reply in ipairs(steps.script or {}) do
    table.insert(lines, vim.json.encode(reply))
  end
  return table.concat(lines, '\n') .. '\n'
end

local function init_of(steps, dir, background)
  local settings =
    vim.tbl_deep_extend('force', { context = { window = 32000 } }, steps.settings or {})
  return ([[
vim.opt.runtimepath:prepend(%q)
vim.o.termguicolors, vim.o.background = true, %q
vim.o.number, vim.o.signcolumn, vim.o.laststatus, vim.o.swapfile = true, 'yes', 2, false
vim.o.tabstop, vim.o.shiftwidth = 4, 4
vim.o.statusline = " %%f %%m%%=%%{%%v:lua.require'agent_lsp'.statusline()%%}"
vim.cmd.cd(%q)
for key, name in pairs({ n = 'next', c = 'comment', e = 'edit' }) do
  vim.keymap.set('n', ',' .. key, ('<Plug>(agent-lsp-%%s)'):format(name))
end
require('agent_lsp').setup({ cmd = { %q }, settings = vim.json.decode(%q) })
]]):format(
    vim.fs.dirname(here),
    background,
    dir .. '/shop',
    vim.env.AGENT_LSP_BIN,
    vim.json.encode(settings)
  )
end

---@class Terminal a Neovim in tmux, with a channel to it
local Terminal = {}
Terminal.__index = Terminal

function Terminal:tmux(...)
  return vim
    .system({ 'tmux', '-u', '-S', self.dir .. '/tmux', '-f', '/dev/null', ... }, { text = true })
    :wait()
end

local function open(steps, columns, lines, background)
  local self = setmetatable({ dir = vim.fn.tempname() }, Terminal)
  for path, text in pairs(catalog.files) do
    write(self.dir .. '/shop/' .. path, text)
  end
  vim.fn.mkdir(self.dir .. '/shop/.git', 'p')
  write(self.dir .. '/script.jsonl', script_of(steps))
  write(self.dir .. '/init.lua', init_of(steps, self.dir, background))
  local command = ('XDG_STATE_HOME=%s/state AGENT_LSP_SCRIPT=%s/script.jsonl exec %s --clean -i NONE -u %s/init.lua --listen %s/nvim %s/shop/cart.go 2>%s/err'):format(
    self.dir,
    self.dir,
    vim.env.NVIM or vim.v.progpath,
    self.dir,
    self.dir,
    self.dir,
    self.dir
  )
  self:tmux('new-session', '-d', '-x', tostring(columns), '-y', tostring(lines), command)
  vim.wait(deadline, function()
    local ok, channel = pcall(vim.fn.sockconnect, 'pipe', self.dir .. '/nvim', { rpc = true })
    self.channel = ok and channel > 0 and channel or nil
    return self.channel and self:lua('return vim.v.vim_did_enter == 1')
  end, 20)
  return self
end

function Terminal:text(colors)
  return self:tmux('capture-pane', '-p', unpack(colors and { '-e', '-N' } or {})).stdout
end

function Terminal:lua(code)
  if vim.rpcrequest(self.channel, 'nvim_get_mode').blocking then
    return nil
  end
  local value = vim.rpcrequest(self.channel, 'nvim_exec_lua', code, {})
  return value ~= vim.NIL and value
end

function Terminal:step(step)
  if type(step) == 'string' or step.keys then
    vim.rpcrequest(self.channel, 'nvim_input', step.keys or step)
    return
  end
  local ok = vim.wait(deadline, function()
    if step.lua then
      return self:lua(step.lua)
    end
    return (self:text():find(step.see, 1, true) ~= nil)
  end, 30)
  if not ok then
    error(('%s was not reached; the screen:\n%s'):format(vim.inspect(step), self:text()), 0)
  end
end

--- Returns the screen when it stops changing, or after 5 s.
function Terminal:still()
  local last
  vim.wait(5000, function()
    local now = self:text(true)
    local same = now == last
    last = now
    return same
  end, 150)
  return last
end

function Terminal:close()
  pcall(vim.rpcnotify, self.channel, 'nvim_command', 'qa!')
  self:tmux('kill-server')
end

local function play(scene, size, background)
  local columns, lines = size:match('(%d+)x(%d+)')
  local name = ('%s-%s-%s'):format(scene.name, size, background)
  local terminal = open(scene.steps, columns, lines, background)
  local ok, err = pcall(function()
    for _, step in ipairs(scene.steps) do
      terminal:step(step)
    end
    local capture = terminal:still()
    if shots then
      write(('%s/%s.ansi'):format(shots, name), capture)
    end
  end)
  terminal:close()
  print(('%s %s'):format(ok and 'ok  ' or 'FAIL', name))
  if not ok then
    print(err)
    table.insert(failed, name)
  end
end

for _, scene in ipairs(catalog.scenes) do
  local only = vim.env.ONLY
  if
    not only
    or only == 'main' and vim.list_contains(catalog.main, scene.name)
    or only ~= 'main' and scene.name:find(only)
  then
    for size in sizes:gmatch('%S+') do
      play(scene, size, 'light')
      play(scene, size, 'dark')
    end
  end
end
vim.cmd(#failed == 0 and 'qall!' or 'cquit 1')
