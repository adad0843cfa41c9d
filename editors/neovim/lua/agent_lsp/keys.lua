--- Keys that decide hunks, in buffers with pending hunks. The plugin does not replace a key that
--- the user has mapped.
local config = require('agent_lsp.config')

local M = {}

local ns = vim.api.nvim_create_namespace('agent_lsp_keys')

--- The actions, in the order of the hint.
local actions = { 'accept', 'reject', 'edit', 'comment', 'next', 'previous' }

--- Keys that stay mapped after the last hunk is decided. They go to the next file, or report that
--- no hunk is pending.
local stays = { next = true, previous = true }

--- The key that the plugin mapped for each action, by buffer.
local mapped = {} ---@type table<integer, table<string, string>>

local function is_free(lhs)
  return type(lhs) == 'string' and lhs ~= '' and vim.fn.mapcheck(lhs, 'n') == ''
end

--- Maps the keys in a buffer. It skips a key if a mapping of the user begins with it or is its
--- prefix.
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
---@param bare? boolean whether to show the keys without their actions
local function chunks(keys, shown, bare)
  local out, width = {}, 0
  for _, action in ipairs(shown) do
    if keys[action] then
      local word = bare and '' or ' ' .. action
      local gap = bare and #out > 0 and ' ' or '  '
      table.insert(out, { gap .. keys[action], 'AgentLspHintKey' })
      table.insert(out, { word, 'AgentLspHint' })
      width = width + 2 + #keys[action] + #word
    end
  end
  return out, width
end

--- Returns the longest hint that fits after a line, or the shortest hint if the line leaves no
--- room.
local function fitting(keys, here, room)
  local variants = { { 'next' } }
  if here then
    variants = { { 'accept', 'reject', 'edit', 'comment' }, { 'accept', 'reject' } }
  end
  for _, shown in ipairs(variants) do
    local out, width = chunks(keys, shown)
    if width <= room then
      return out
    end
  end
  return (chunks(keys, variants[#variants], true))
end

--- Returns the hunk that gets the hint: the one under the cursor, otherwise the next one.
local function target(rows, row)
  for _, r in ipairs(rows) do
    if row <= r.last then
      return r, row >= r.row
    end
  end
end

--- Shows the keys at the hunk under the cursor. If there is none, it shows at the next hunk how to
--- get there.
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
  local line = at and vim.api.nvim_buf_get_lines(buf, at.row, at.row + 1, false)[1]
  if not line then
    return
  end
  local taken = vim.api.nvim_win_call(win, function()
    return vim.fn.strdisplaywidth(line)
  end)
  -- One column separates the hint from the text, and two are for signs that may appear with the
  -- next redraw.
  local reserved = vim.wo[win].signcolumn:find('^auto') and 3 or 1
  local columns = vim.api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff
  local room = columns - taken - reserved
  vim.api.nvim_buf_set_extmark(buf, ns, at.row, 0, {
    virt_text = fitting(keys, here, room),
    virt_text_pos = 'eol',
    hl_mode = 'combine',
    priority = 200,
  })
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
