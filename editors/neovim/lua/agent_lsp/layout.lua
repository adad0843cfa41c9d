--- Sets the sizes of the panel's windows, and closes the input when the transcript closes.
local config = require('agent_lsp.config')
local input = require('agent_lsp.input')
local transcript = require('agent_lsp.transcript')

local M = {}

local group = vim.api.nvim_create_augroup('agent_lsp_layout', { clear = true })

--- Returns the window in the current tab that shows the input.
---@return integer?
function M.input()
  for _, win in ipairs(input.windows()) do
    if vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
      return win
    end
  end
end

--- Returns the panel's width and its input's maximum height in this terminal.
---@return integer width
---@return integer height
function M.sizes()
  local o = config.options.panel
  local sixth = math.max(3, math.floor(vim.o.lines / 6)) -- leaves room for a question in 24 lines
  return math.max(20, math.min(o.width, math.floor(vim.o.columns / 2))),
    math.max(1, math.min(o.input_height, math.floor(vim.o.lines / 4), sixth))
end

local chosen = {} ---@type { all?: integer, input?: integer } height of panel and input in lines when they were last checked

--- Restores the input's height after the panel's total height changed. Otherwise, the input would
--- receive all the room when a window below it is closed.
function M.keep_height()
  local win, input_win = transcript.window(), M.input()
  if not win or not input_win then
    chosen = {}
    return
  end
  local height = vim.api.nvim_win_get_height(input_win)
  local all = vim.api.nvim_win_get_height(win) + height
  if chosen.all == all or not chosen.input then
    chosen.input = height -- the user chose this height
  elseif height ~= chosen.input and all > 3 * chosen.input then
    vim.api.nvim_win_set_height(input_win, chosen.input)
  end
  chosen.all = all
end

local given = {} ---@type table<integer, integer> size that this module set, in columns or lines; the user chose any other size

--- Records the size with which a window was opened.
---@param win integer
---@param size integer
function M.note(win, size)
  given[win] = size
end

--- Sets a window's size, unless the user chose another size that leaves enough room for the
--- documents.
local function fit(win, now, wanted, most, set)
  if now == given[win] or now > most then
    set(win, wanted)
    given[win] = wanted
  end
end

--- Fits the panel to the terminal. In a small terminal, the panel leaves room for the documents,
--- and it grows again when there is enough room.
local function fit_terminal()
  local width, height = M.sizes()
  for _, win in ipairs(transcript.windows()) do
    fit(win, vim.api.nvim_win_get_width(win), width, vim.o.columns / 2, vim.api.nvim_win_set_width)
  end
  for _, win in ipairs(input.windows()) do
    fit(win, vim.api.nvim_win_get_height(win), height, vim.o.lines / 3, vim.api.nvim_win_set_height)
  end
end

vim.api.nvim_create_autocmd('VimResized', { group = group, callback = fit_terminal })

--- Closes the input whenever the transcript closes.
vim.api.nvim_create_autocmd('WinClosed', {
  group = group,
  callback = function(args)
    local win = tonumber(args.match)
    if args.buf ~= transcript.buf or not win or not vim.api.nvim_win_is_valid(win) then
      return
    end
    local tab = vim.api.nvim_win_get_tabpage(win)
    local function there(other)
      return vim.api.nvim_win_get_tabpage(other) == tab
    end
    vim.schedule(function()
      local left = vim.iter(transcript.windows()):any(there)
      for _, other in ipairs(left and {} or vim.tbl_filter(there, input.windows())) do
        pcall(vim.api.nvim_win_close, other, true)
      end
    end)
  end,
})

return M
