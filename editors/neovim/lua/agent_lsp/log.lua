--- Writes the plugin's log, which is stored next to Neovim's own log, and shows messages to the
--- user.
local M = {}

M.path = vim.fn.stdpath('log') .. '/agent-lsp.log'
-- Neovim creates the folder only when it writes its own log.
vim.fn.mkdir(vim.fs.dirname(M.path), 'p')

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

--- Reports whether vim.notify is Neovim's own function, which writes below the windows. A plugin's
--- replacement can show messages of any length.
local function writes_below()
  local source = debug.getinfo(vim.notify, 'S').source
  -- From Neovim 0.12 on, compiled-in functions have no source.
  return source == '?' or vim.startswith(source, '@vim/')
end

local groups = { [vim.log.levels.ERROR] = 'ErrorMsg', [vim.log.levels.WARN] = 'WarningMsg' }

--- Shows the first line of a message, cut to fit the command line, because a longer message would
--- cause the "Press ENTER" prompt. The full message goes to the log.
local function tell_short(text, level)
  local hint, line = ' … :AgentLog', vim.split(text, '\n')[1]
  local room = math.max(20, vim.v.echospace) - #hint
  while vim.api.nvim_strwidth(line) > room do
    line = vim.fn.strcharpart(line, 0, vim.fn.strcharlen(line) - 1)
  end
  if level < vim.log.levels.WARN then
    M.info(text)
  end
  vim.api.nvim_echo({ { line .. hint, groups[level] } }, true, {})
end

--- Shows an error in the panel if the panel is open. In the command line, the next key would remove
--- the error, and Neovim shows the mode there while the user writes a prompt.
local function in_panel(text)
  local panel = package.loaded['agent_lsp.panel']
  if panel and panel.is_open() then
    require('agent_lsp.transcript').note(text, 'error')
  end
end

--- Reports whether a message is too long for the line below the windows.
local function is_too_long(text)
  return text:find('\n') ~= nil or vim.api.nvim_strwidth(text) > vim.v.echospace
end

--- Returns a text for the line below the windows. Control characters are replaced, because Neovim
--- draws them wider than nvim_strwidth counts them.
local function printable(text)
  return (vim.trim(text):gsub('[%z\1-\9\11-\31\127]', ' '))
end

--- Shows a message to the user. Warnings and errors are also written to the log. The panel, if it
--- is open, also shows errors.
---@param text string
---@param level? integer vim.log.levels
---@param short? string the text if the message is shown below the windows and does not fit there
function M.tell(text, level, short)
  level = level or vim.log.levels.INFO
  if level >= vim.log.levels.WARN then
    M.error(text)
  end
  vim.schedule(function()
    if level >= vim.log.levels.ERROR then
      in_panel(text)
    end
    if writes_below() then
      text, short = printable(text), short and printable(short)
      -- The list of choices may still be on the screen. Without a redraw, Neovim would show the
      -- "Press ENTER" prompt.
      vim.cmd.redraw()
    end
    text = 'agent-lsp: ' .. text
    if writes_below() and short and is_too_long(text) then
      text = 'agent-lsp: ' .. short
    end
    if writes_below() and is_too_long(text) then
      return tell_short(text, level)
    end
    vim.notify(text, level)
  end)
end

return M
