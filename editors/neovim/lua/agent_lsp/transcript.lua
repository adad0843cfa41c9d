--- Draws the transcript buffer. Each item consists of consecutive lines that begin at an extmark.
---
--- Streamed text is collected and drawn once per frame. Text that only grew is appended to the
--- drawn text.
require('agent_lsp.cards')
local events = require('agent_lsp.events')
local folds = require('agent_lsp.folds')
local items = require('agent_lsp.items')
local paint = require('agent_lsp.paint')
local render = require('agent_lsp.render')

local M = {}

local marks = vim.api.nvim_create_namespace('agent_lsp_items')

--- The time in milliseconds between two redraws while text streams.
local frame = 16
--- The prefixes after which a long line that wraps is indented, such as a list marker, a state or a
--- key.
local list_item = [[^\%(│ \)*\s*\%([-*+✓✗●○✎?⊘↷❯»·!i>]\|\d\+[.)]\)\s\+\|^ \S  ]]

local dirty = {} ---@type table<agent_lsp.PanelItem, boolean>
local footer ---@type agent_lsp.PanelItem
local timer = false

M.longest = 0 -- duration of the longest redraw, in milliseconds

--- Returns the buffer. It is created on first use.
---@return integer
function M.buffer()
  if M.buf and vim.api.nvim_buf_is_valid(M.buf) then
    return M.buf
  end
  M.buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(M.buf, 'agent-lsp panel')
  vim.bo[M.buf].bufhidden, vim.bo[M.buf].modifiable, vim.bo[M.buf].undolevels = 'hide', false, -1
  vim.bo[M.buf].filetype = 'agent_lsp'
  vim.bo[M.buf].formatlistpat = list_item
  pcall(vim.treesitter.start, M.buf, 'markdown')
  for _, item in ipairs(items.list) do
    item.mark, item.lines, item.drawn, item.folded = nil, 0, nil, nil
    dirty[item] = true
  end
  footer.mark, footer.lines = nil, 0
  dirty[footer] = true
  return M.buf
end

--- Returns the windows that show the transcript, in all tabs.
---@return integer[]
function M.windows()
  return M.buf and vim.fn.win_findbuf(M.buf) or {}
end

--- Returns the window in the current tab that shows the transcript.
---@return integer?
function M.window()
  for _, win in ipairs(M.windows()) do
    if vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
      return win
    end
  end
end

--- Returns the number of text columns in the narrowest window that shows the transcript.
---@return integer
function M.columns()
  local least
  for _, win in ipairs(M.windows()) do
    local width = vim.api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff
    least = math.min(least or width, width)
  end
  return least or require('agent_lsp.config').options.panel.width - 1
end

local function set_lines(first, last, lines)
  vim.bo[M.buf].modifiable = true
  vim.api.nvim_buf_set_lines(M.buf, first, last, false, lines)
  vim.bo[M.buf].modifiable, vim.bo[M.buf].modified = false, false
end

local function row_of(item)
  return vim.api.nvim_buf_get_extmark_by_id(M.buf, marks, item.mark, {})[1]
end

--- Returns the row at which an item that is not drawn yet belongs, which is before the next drawn
--- item.
local function row_for(item)
  local found = false
  for _, other in ipairs(items.list) do
    if other == item then
      found = true
    elseif found and other.mark then
      return row_of(other)
    end
  end
  return footer.mark and item ~= footer and row_of(footer) or vim.api.nvim_buf_line_count(M.buf) - 1
end

--- Draws a complete item.
local function draw(item)
  local look = item.look and item.look() or render.item(item, M.columns())
  if item ~= footer then
    table.insert(look.lines, ('│ '):rep(item.depth))
  end
  local row = item.mark and row_of(item) or row_for(item)
  local cursors = {}
  for _, win in ipairs(M.windows()) do
    cursors[win] = vim.api.nvim_win_get_cursor(win)
  end
  folds.unfold(item, row)
  for win, cursor in pairs(cursors) do
    pcall(vim.api.nvim_win_set_cursor, win, cursor)
  end
  set_lines(row, row + item.lines, look.lines)
  item.mark = vim.api.nvim_buf_set_extmark(M.buf, marks, row, 0, { id = item.mark })
  item.lines, item.fold, item.columns = #look.lines, look.fold, look.columns
  item.drawn = render.is_plain(item) and item.text or nil
  paint.item(M.buf, item, look, row)
end

--- Appends the part of an item's plain text that is not drawn yet.
local function append(item)
  local more = item.text:sub(#item.drawn + 1)
  item.drawn = item.text
  if more == '' then
    return
  end
  local first = row_of(item)
  local row = first + item.lines - 2 -- the item's last line is empty
  local last = vim.api.nvim_buf_get_lines(M.buf, row, row + 1, false)[1]
  local lines = render.lines(last .. more)
  set_lines(row, row + 1, lines)
  -- The mark must be set again, because it would move with a replaced line.
  vim.api.nvim_buf_set_extmark(M.buf, marks, first, 0, { id = item.mark })
  item.lines = item.lines + #lines - 1
end

local function gather(item)
  if #item.parts > 0 then
    item.text = item.text .. table.concat(item.parts)
    item.parts = {}
  end
end

--- Closes the folds of finished items.
function M.fold()
  local windows = M.windows()
  for _, item in ipairs(#windows > 0 and items.list or {}) do
    if item.fold and item.mark then
      folds.fold(item, row_of(item), windows)
    end
  end
end

--- Draws items. It returns whether text was appended to an item, which means that text streams.
local function draw_all(todo)
  local settled, streams = false, false
  for _, item in ipairs(items.list) do
    if todo[item] then
      gather(item)
      if
        item.mark
        and item.drawn
        and render.is_plain(item)
        and vim.startswith(item.text, item.drawn)
      then
        append(item)
        streams = true
      else
        draw(item)
      end
      settled = settled or item.fold ~= nil
    end
  end
  if todo[footer] then
    draw(footer)
  end
  if settled then
    M.fold()
  end
  return streams
end

--- Scrolls a window to the end. The last line is moved to the bottom, because folding leaves free
--- room in the window. If the footer does not fit into the window, its beginning is shown.
---@param win integer
function M.follow(win)
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(M.buf), 0 })
  local first = footer.mark and footer.lines > 1 and row_of(footer)
  local tall = first
    and vim.api.nvim_win_text_height(win, { start_row = first }).all
      >= vim.api.nvim_win_get_height(win)
  vim.api.nvim_win_call(win, function()
    vim.cmd('keepjumps normal! zb')
    if tall then
      vim.api.nvim_win_set_cursor(win, { first + 2, 0 }) -- skip the fence, which Neovim 0.10 shows
      vim.cmd('keepjumps normal! zt')
    end
  end)
end

--- Returns the windows whose cursor is at the end. These windows follow the stream.
local function following()
  local last = M.buf
    and vim.api.nvim_buf_is_valid(M.buf)
    and vim.api.nvim_buf_line_count(M.buf) - footer.lines - 1
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_cursor(win)[1] >= last
  end, M.windows())
end

--- Keeps the end at the bottom of windows whose size changed.
function M.stay()
  for _, win in ipairs(following()) do
    M.follow(win)
  end
end

local settling = 0 -- the number of times that settle was called

--- Scrolls to the end again when nothing has been drawn for a while.
local function settle()
  settling = settling + 1
  local this = settling
  vim.defer_fn(function()
    if this == settling then
      M.stay()
    end
  end, 6 * frame)
end

--- Scrolls windows to the end after their text was drawn. Lines that conceal hides need no room,
--- but conceal is off while text is drawn. While text streams, this function waits for a pause,
--- because Neovim parses the text to find these lines.
---@param windows integer[]
---@param streams boolean
local function follow_hidden(windows, streams)
  for _, win in ipairs(streams and {} or windows) do
    M.follow(win)
  end
  if #windows > 0 then
    settle()
  end
end

--- Draws all changes. It runs at most once per frame, regardless of how many deltas arrive.
function M.flush()
  timer = false
  if not M.buf or not vim.api.nvim_buf_is_valid(M.buf) or not next(dirty) then
    return
  end
  local began = vim.uv.hrtime()
  local windows, at_end, streams = M.windows(), following(), false
  local todo = dirty
  dirty = {}
  folds.without_conceal(windows, function()
    streams = draw_all(todo)
    for _, win in ipairs(at_end) do
      M.follow(win)
    end
  end)
  if folds.hides_lines then
    follow_hidden(at_end, streams)
  end
  M.longest = math.max(M.longest, (vim.uv.hrtime() - began) / 1e6)
end

local function touch(item)
  dirty[item] = true
  if not timer then
    timer = true
    vim.defer_fn(M.flush, frame)
  end
end

--- Redraws tables that were drawn for another width.
function M.rewrap()
  local columns = M.columns()
  for _, item in ipairs(items.list) do
    if item.columns and item.columns ~= columns then
      touch(item)
    end
  end
end

M.touch = touch

footer =
  { id = '', data = {}, text = '', parts = {}, output = '', depth = 0, done = false, lines = 0 }

--- Sets the function that returns the content of the footer.
---@param look fun(): agent_lsp.Look
function M.set_footer(look)
  footer.look = look
  touch(footer)
end

--- Redraws the footer.
function M.touch_footer()
  touch(footer)
end

--- Redraws the calls that wait for the user, because the current request changed.
events.on('pending', function()
  for _, item in ipairs(items.list) do
    if item.data.type == 'toolCall' and not item.done then
      touch(item)
    end
  end
end)

--- Returns the beginning of a prompt in one line.
---@param id string the message's id
---@param limit? integer maximum number of characters; the default suits a list
---@return string?
function M.prompt(id, limit)
  local item = items.by_id[id]
  if not item or item.data.type ~= 'userMessage' then
    return nil
  end
  limit = limit or 60
  local line = render.line(item.text)
  return vim.fn.strcharlen(line) > limit and vim.fn.strcharpart(line, 0, limit - 1) .. '…' or line
end

--- Reports whether the transcript has no messages yet.
function M.is_empty()
  return #items.list == 0
end

--- Reports whether the last turn was stopped or failed and therefore has no answer.
function M.is_cut()
  local last
  for _, item in ipairs(items.list) do
    last = item.depth == 0 and item.data.type ~= 'notice' and item or last
  end
  return last ~= nil and (last.data.type ~= 'assistantMessage' or last.data.status ~= nil)
end

--- Redraws the footer when the first item arrives, because the text of the empty transcript
--- disappears.
local function touch_first()
  if #items.list == 1 then
    touch(footer)
  end
end

--- Adds or updates an item from the daemon.
---@param data agent_lsp.Item
---@param done boolean
function M.take(data, done)
  touch(items.take(data, done))
  touch_first()
end

---@param id string
---@param kind string
---@param text string
function M.delta(id, kind, text)
  local item = items.delta(id, kind, text)
  if item then
    touch(item)
  end
end

--- Sets which of the user's messages are pinned.
---@param ids string[]
function M.set_pinned(ids)
  for _, item in ipairs(items.set_pinned(ids)) do
    touch(item)
  end
end

--- Adds a note that the client created.
---@param text string
---@param level? 'info'|'warning'|'error'|'restore'
---@param restore? { checkpoint: string, workspace: agent_lsp.Workspace } how to undo the restore
---@param created? string its time; by default the note goes to the end
function M.note(text, level, restore, created)
  local data = { type = 'notice', level = level or 'info', restore = restore, createdAt = created }
  local item = items.new('', data)
  item.text, item.done = text, true
  items.insert_note(item)
  touch_first()
  touch(item)
  return item
end

--- Changes a note's text.
---@param item agent_lsp.PanelItem
---@param text string
function M.change(item, text)
  item.text = text
  touch(item)
end

--- Marks the calls that were running when the daemon died as interrupted.
function M.interrupt()
  for _, item in ipairs(items.interrupt()) do
    touch(item)
  end
end

--- Clears the transcript for another session.
function M.clear()
  items.clear()
  dirty = {}
  if M.buf and vim.api.nvim_buf_is_valid(M.buf) then
    vim.api.nvim_buf_clear_namespace(M.buf, -1, 0, -1)
    set_lines(0, -1, {})
    footer.mark, footer.lines = nil, 0
    touch(footer)
  end
end

--- Returns the item to which a row of the buffer belongs.
---@param row integer zero-based
---@return agent_lsp.PanelItem?
function M.at(row)
  local found
  for _, item in ipairs(items.list) do
    if item.mark and row_of(item) <= row then
      found = item
    end
  end
  return found
end

--- Reports whether a row is below all items, in the footer.
---@param row integer zero-based
function M.in_footer(row)
  return footer.mark ~= nil and row >= row_of(footer)
end

M.enclosing = items.enclosing

M.session = nil ---@type string?

--- Reports whether an event belongs to the session that is shown.
---@param params table
function M.ours(params)
  return not M.session or params.sessionId == M.session
end

for name, done in pairs({
  ['item/started'] = false,
  ['item/updated'] = false,
  ['item/completed'] = true,
}) do
  events.on(name, function(params)
    if M.ours(params) then
      M.take(params.item, done)
    end
  end)
end

events.on('delta', function(params)
  if M.ours(params) then
    M.delta(params.itemId, params.kind, params.text)
  end
end)

events.on('exit', function(params)
  if M.ours(params) then
    M.interrupt()
  end
end)

return M
