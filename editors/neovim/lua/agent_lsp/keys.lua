--- Maps keys that decide hunks, in buffers with pending hunks. The plugin does not replace a key
--- that the user has mapped.
local config = require('agent_lsp.config')

local M = {}

local ns = vim.api.nvim_create_namespace('agent_lsp_keys')

--- The actions, in the order of the hint.
local actions = { 'accept', 'reject', 'edit', 'comment', 'next', 'previous' }

--- The actions whose keys stay mapped after the last hunk is decided. These keys go to the next
--- file, or report that no hunk is pending.
local stays = { next = true, previous = true }

--- The key that the plugin mapped for each action, by buffer.
local mapped = {} ---@type table<integer, table<string, string>>

local function is_free(lhs)
  return type(lhs) == 'string' and lhs ~= '' and vim.fn.mapcheck(lhs, 'n') == ''
end

--- Maps the keys in a buffer. It skips a key if one of the user's mappings begins with that key or
--- is a prefix of it.
---@param buf integer
function M.map(buf)
  local keys = config.options.review.keys
  if not keys then
    return
  end
  mapped[buf] = mapped[buf] or {}
  local free = {}
  vim.api.nvim_buf_call(buf, function()
    for _, action in ipairs(actions) do
      free[action] = not mapped[buf][action] and is_free(keys[action])
    end
  end)
  for _, action in ipairs(actions) do
    if free[action] then
      local rhs = ('<Plug>(agent-lsp-%s)'):format(action)
      local desc = ('agent-lsp: %s hunk'):format(action)
      vim.keymap.set('n', keys[action], rhs, { buffer = buf, remap = true, desc = desc })
      mapped[buf][action] = keys[action]
    end
  end
end

--- Removes the deciding keys and the hint from a buffer without pending hunks.
---@param buf integer
function M.unmap(buf)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for action, lhs in pairs(mapped[buf] or {}) do
    if not stays[action] then
      pcall(vim.keymap.del, 'n', lhs, { buffer = buf })
      mapped[buf][action] = nil
    end
  end
end

--- Returns the hint as chunks of virtual text: the actions with their keys.
---@param keys table<string, string>
---@param shown string[] actions
local function chunks(keys, shown)
  local out, width = {}, 0
  for _, action in ipairs(shown) do
    if keys[action] then
      table.insert(out, { '  ' .. keys[action], 'AgentLspHintKey' })
      table.insert(out, { ' ' .. action, 'AgentLspHint' })
      width = width + 3 + #keys[action] + #action
    end
  end
  return out, width
end

local long, short = { 'accept', 'reject', 'edit', 'comment' }, { 'accept', 'reject' }

--- Returns the longest hint that fits after a line of the hunk, and that line's row. It prefers the
--- first line.
---@param rooms { row: integer, columns: integer }[]
local function fitting(keys, here, rooms)
  for _, shown in ipairs(here and { long, short } or { { 'next' } }) do
    local out, width = chunks(keys, shown)
    for _, room in ipairs(rooms) do
      if width <= room.columns then
        return out, room.row
      end
    end
  end
end

--- Returns the hint as virtual lines, for a hunk whose lines leave no room for the hint. If the
--- actions do not fit into one line, each action gets its own line.
local function own_lines(keys, here, columns)
  for _, shown in ipairs(here and { long, short } or { { 'next' } }) do
    local out, width = chunks(keys, shown)
    if width <= columns then
      return { out }
    end
  end
  return vim.tbl_map(function(action)
    return (chunks(keys, { action }))
  end, here and short or { 'next' })
end

--- Returns the hunk that gets the hint: the one under the cursor, otherwise the next one.
local function target(rows, row)
  for _, r in ipairs(rows) do
    if row <= r.last then
      return r, row >= r.row
    end
  end
end

--- The maximum number of a hunk's lines that are checked for free columns.
local max_searched = 20

--- Returns the number of free columns after each line of a hunk in a window.
local function rooms_of(win, at, columns)
  local buf = vim.api.nvim_win_get_buf(win)
  local stop = math.min(at.last, at.row + max_searched - 1) + 1
  local lines = vim.api.nvim_buf_get_lines(buf, at.row, stop, false)
  return vim.api.nvim_win_call(win, function()
    local out = {}
    for i, line in ipairs(lines) do
      out[i] = { row = at.row + i - 1, columns = columns - vim.fn.strdisplaywidth(line) }
    end
    return out
  end)
end

--- Shows the keys at the hunk under the cursor. If no hunk is under the cursor, it shows the key
--- that goes to the next hunk, at that hunk.
---@param buf integer
---@param rows { row: integer, last: integer }[]
function M.hint(buf, rows)
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local current = vim.api.nvim_get_current_buf() == buf
  local win = current and vim.api.nvim_get_current_win() or vim.fn.bufwinid(buf)
  local keys = mapped[buf]
  if win == -1 or not keys then
    return
  end
  local at, here = target(rows, vim.api.nvim_win_get_cursor(win)[1] - 1)
  if not at or at.row >= vim.api.nvim_buf_line_count(buf) then
    return
  end
  -- One column separates the hint from the text, and two are for signs that may appear with the
  -- next redraw.
  local signs = vim.wo[win].signcolumn:find('^auto') and 2 or 0
  local columns = vim.api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff - signs
  local opts = { hl_mode = 'combine', priority = 200 }
  local row
  opts.virt_text, row = fitting(keys, here, rooms_of(win, at, columns - 1))
  if opts.virt_text then
    opts.virt_text_pos = 'eol'
  else
    opts.virt_lines = own_lines(keys, here, columns)
    -- Neovim does not show virtual lines above the first line of a window.
    opts.virt_lines_above = at.row > 0
    row = at.row > 0 and at.row or at.last
  end
  vim.api.nvim_buf_set_extmark(buf, ns, row, 0, opts)
end

--- Returns the key of an action if it is mapped in the buffer.
---@param buf integer
---@param action string
---@return string?
function M.of(buf, action)
  return mapped[buf] and mapped[buf][action]
end

vim.api.nvim_create_autocmd({ 'BufUnload', 'BufDelete' }, {
  group = vim.api.nvim_create_augroup('agent_lsp_keys', { clear = true }),
  callback = function(args)
    for _, lhs in pairs(mapped[args.buf] or {}) do
      pcall(vim.keymap.del, 'n', lhs, { buffer = args.buf })
    end
    mapped[args.buf] = nil
  end,
})

M.namespace = ns
return M
