--- Draws pending hunks in their buffers with extmarks, which move with the user's edits.
---
--- A drawn hunk keeps its marks as long as its text and state are the same, so a decision redraws
--- only the hunks that it changed. The daemon also follows the user's edits.
local config = require('agent_lsp.config')
local events = require('agent_lsp.events')
local hunks = require('agent_lsp.hunks')
local keys = require('agent_lsp.keys')
local words = require('agent_lsp.words')

local M = {}

local ns = vim.api.nvim_create_namespace('agent_lsp_review')

---@class agent_lsp.Drawn: agent_lsp.Waiting
---@field buf integer
---@field key string identifies the hunk's text and state at the time of drawing
---@field mark integer the extmark over the hunk's lines
---@field others integer[] the extmarks of its virtual lines and words
---@field below integer 1 if the hunk begins after the buffer's last line

local drawn = {} ---@type table<integer, table<string, agent_lsp.Drawn>> by buffer and hunk

for group, link in pairs({
  AgentLspAdd = 'DiffAdd',
  AgentLspDelete = 'DiffDelete',
  AgentLspAddText = 'DiffText',
  AgentLspDeleteText = 'DiffText',
  AgentLspSign = 'DiagnosticHint',
  AgentLspStale = 'DiagnosticWarn',
  AgentLspHint = 'Comment',
  AgentLspHintKey = 'Identifier',
}) do
  vim.api.nvim_set_hl(0, group, { link = link, default = true })
end

--- Returns a document's buffer, or nil if the document is not loaded.
---@param uri string
---@return integer?
function M.buffer(uri)
  local path = vim.uri_to_fname(uri)
  local buf = vim.fn.bufnr('^' .. vim.fn.escape(path, '\\*?[]{}^$,') .. '$')
  if buf == -1 then
    for _, b in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_is_loaded(b) and vim.uri_from_bufnr(b) == uri then
        return b
      end
    end
  end
  return buf ~= -1 and vim.api.nvim_buf_is_loaded(buf) and buf or nil
end

--- Converts a line to chunks of virtual text that occupy the same columns as in the buffer. Tabs
--- become spaces, and the parts that differ from the corresponding line are highlighted.
local function chunks(line, spans, looks)
  local out, column, at = {}, 0, 0
  local function add(text, group)
    text = text:gsub('[^\t]*\t?', function(part)
      local bare = part:gsub('\t', '')
      column = column + vim.api.nvim_strwidth(bare)
      local fill = bare ~= part and looks.tabstop - column % looks.tabstop or 0
      column = column + fill
      return bare .. (' '):rep(fill)
    end)
    out[#out + 1] = text ~= '' and { text, group } or nil
  end
  for _, s in ipairs(spans) do
    add(line:sub(at + 1, s[1]), looks.base)
    add(line:sub(s[1] + 1, s[2]), looks.text)
    at = s[2]
  end
  add(line:sub(at + 1), looks.base)
  return out
end

--- Reports whether the buffer contains the given lines, starting at a row.
local function stands(buf, row, lines)
  return vim.deep_equal(vim.api.nvim_buf_get_lines(buf, row, row + #lines, false), lines)
end

--- The number of lines that are searched before and after a hunk's reported range if the buffer has
--- changed since the report.
local reach = 500

--- Returns a hunk's current row. The reported range refers to an older version of the document if
--- the user has typed since.
local function row_of(buf, h, shown)
  local row = math.min(h.range.start.line, vim.api.nvim_buf_line_count(buf))
  if #shown == 0 or h.state == 'stale' or stands(buf, row, shown) then
    return row
  end
  for d = 1, reach do
    for _, at in ipairs({ row - d, row + d }) do
      if at >= 0 and stands(buf, at, shown) then
        return at
      end
    end
  end
  return row
end

local function file_note(file)
  if file.placement == 'applied' and file.op == 'rename' then
    return ' the agent renamed this file from ' .. vim.fs.basename(file.uri)
  end
  return ({
    create = ' new file',
    delete = ' the agent proposes to delete this file',
    rename = ' the agent proposes to rename this file to ' .. vim.fs.basename(file.newUri or ''),
  })[file.op]
end

--- Breaks a virtual line that is wider than the window, because virtual lines do not wrap.
local function wrapped(out, line, width)
  local at, room = {}, width
  for _, c in ipairs(line) do
    local text = c[1]
    while vim.api.nvim_strwidth(text) > room do
      local fits = vim.fn.strcharlen(text)
      while fits > 0 and vim.api.nvim_strwidth(vim.fn.strcharpart(text, 0, fits, true)) > room do
        fits = math.min(fits - 1, room)
      end
      at[#at + 1] = { vim.fn.strcharpart(text, 0, fits, true), c[2] }
      out[#out + 1], at, room = at, {}, width
      text = vim.fn.strcharpart(text, fits, vim.fn.strcharlen(text), true)
    end
    at[#at + 1], room = { text, c[2] }, room - vim.api.nvim_strwidth(text)
  end
  out[#out + 1] = at
end

--- Returns the width in columns of the narrowest window that wraps a buffer's lines, or nil if no
--- window wraps them.
local function columns(buf)
  local least
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local width = vim.api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff
    local soon = not drawn[buf]
      and config.options.review.signs
      and vim.startswith(vim.wo[win].signcolumn, 'auto')
    width = soon and width - 2 or width -- reserve room for the sign column
    least = vim.wo[win].wrap and width >= 10 and math.min(least or width, width) or least
  end
  return least
end

--- Returns a hunk's virtual lines, which show the side that is not in the buffer.
local function other_side(buf, applied, spans, shown, virtual, width)
  local looks = { base = 'AgentLspAdd', text = 'AgentLspAddText', tabstop = vim.bo[buf].tabstop }
  if applied then
    looks.base, looks.text = 'AgentLspDelete', 'AgentLspDeleteText'
  end
  local out = {}
  for i, line in ipairs(virtual) do
    local s = #virtual == #shown and spans[i][applied and 1 or 2] or {}
    local line_chunks = chunks(line, s, looks)
    if width then
      wrapped(out, line_chunks, width)
    else
      out[#out + 1] = line_chunks
    end
  end
  -- The highlight extends to the window's edge, as it does for the buffer's own lines.
  local rest = { (' '):rep(vim.o.columns), looks.base }
  for _, l in ipairs(out) do
    l[#l + 1] = rest
  end
  return out
end

local function word_spans(old, new)
  local out = {}
  for i = 1, #old == #new and #old or 0 do
    out[i] = { words.spans(old[i], new[i]) }
  end
  return out
end

--- Places the sign next to a hunk's lines. The sign has its own mark, because a sign is also shown
--- on the row where its mark ends.
local function sign(buf, first, last, stale, applied)
  if not config.options.review.signs then
    return nil
  end
  return vim.api.nvim_buf_set_extmark(buf, ns, first, 0, {
    -- An end on the same row would not move when text is inserted before it.
    end_row = last > first and last or nil,
    priority = 150,
    sign_text = stale and '!' or (applied and '┃' or '▎'),
    sign_hl_group = stale and 'AgentLspStale' or 'AgentLspSign',
  })
end

--- Draws one hunk and returns its marks.
local function place(buf, w, width)
  local h, applied = w.hunk, w.file.placement == 'applied'
  local old, new = hunks.split(h.oldText), hunks.split(h.newText)
  local shown, virtual = applied and new or old, applied and old or new
  local stale, note = h.state == 'stale', file_note(w.file)
  if note then
    shown, virtual = {}, w.file.op == 'create' and not applied and new or {}
  end
  local count = vim.api.nvim_buf_line_count(buf)
  local row = note and 0 or row_of(buf, h, shown)
  local last = math.min(row + #shown, count) -- the first row after the hunk
  local opts = {
    priority = 150,
    virt_text = (stale and { { ' stale: the text here has changed', 'AgentLspStale' } })
      or (note and { { note, 'AgentLspStale' } })
      or nil,
  }
  if last > row and not stale then
    opts.end_row, opts.end_col, opts.hl_eol = last, 0, true
    opts.hl_group = applied and 'AgentLspAdd' or 'AgentLspDelete'
  end
  local at = math.min(row, count - 1)
  if
    opts.end_row == count and vim.api.nvim_buf_get_lines(buf, count - 1, count, false)[1] ~= nil
  then
    opts.end_row, opts.end_col =
      count - 1, #vim.api.nvim_buf_get_lines(buf, count - 1, count, false)[1]
  end
  local mark = vim.api.nvim_buf_set_extmark(buf, ns, at, 0, opts)
  local others = { sign(buf, at, math.max(at, last - 1), stale, applied) }
  local spans = word_spans(old, new)
  if #virtual > 0 and not stale and config.options.review.virtual then
    local above = applied and last > row or not note and row == 0 and last == row
    local anchor = math.max(0, math.min(applied and row or last - 1, count - 1))
    if applied and last == row then
      anchor = math.max(0, row - 1)
    end
    table.insert(
      others,
      vim.api.nvim_buf_set_extmark(buf, ns, anchor, 0, {
        virt_lines = other_side(buf, applied, spans, shown, virtual, width),
        virt_lines_above = above,
        priority = 150,
      })
    )
  end
  for i = 1, stale and 0 or math.min(#shown, #spans, last - row) do
    for _, s in ipairs(spans[i][applied and 2 or 1]) do
      local ok, id = pcall(vim.api.nvim_buf_set_extmark, buf, ns, row + i - 1, s[1], {
        end_col = s[2],
        hl_group = applied and 'AgentLspAddText' or 'AgentLspDeleteText',
        priority = 160,
      })
      table.insert(others, ok and id or nil)
    end
  end
  return mark, others, row - at
end

local function erase(buf, d)
  vim.api.nvim_buf_del_extmark(buf, ns, d.mark)
  for _, id in ipairs(d.others) do
    vim.api.nvim_buf_del_extmark(buf, ns, id)
  end
end

local function key_of(w, width)
  local h = w.hunk
  return table.concat(
    { w.file.placement, w.file.op, h.state, width or '', h.oldText, h.newText },
    '\0'
  )
end

--- Returns an upper bound for the width of a hunk's virtual lines. It counts bytes, and assumes the
--- maximum width for each tab.
local function longest(w, buf)
  local text, most, at = w.file.placement == 'applied' and w.hunk.oldText or w.hunk.newText, 0, 1
  if #text < 10 then
    return 0
  end
  while at <= #text do
    local stop = text:find('\n', at, true) or #text + 1
    most = math.max(most, stop - at)
    at = stop + 1
  end
  return most
    + (text:find('\t', 1, true) and select(2, text:gsub('\t', '')) * (vim.bo[buf].tabstop - 1) or 0)
end

--- Scrolls the windows so that virtual lines above the first line are visible.
local function make_room(buf)
  local first = vim.api.nvim_buf_get_extmarks(buf, ns, { 0, 0 }, { 0, -1 }, { details = true })
  local need = 0
  for _, m in ipairs(first) do
    if m[4].virt_lines_above and m[4].virt_lines then
      need = need + #m[4].virt_lines
    end
  end
  if need == 0 then
    return
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, function()
      if vim.fn.line('w0') == 1 then
        vim.fn.winrestview({ topline = 1, topfill = need })
      end
    end)
  end
end

--- Draws a buffer's new and changed pending hunks, and erases those that are no longer pending.
---@param buf integer
---@param anew? boolean whether to redraw existing marks, because the text was reloaded
function M.buffer_hunks(buf, anew)
  local have = drawn[buf] or {}
  if anew then
    vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
    have = {}
  end
  local now, width = {}, columns(buf)
  for _, w in ipairs(hunks.pending(vim.uri_from_bufnr(buf))) do
    local narrow = width and longest(w, buf) > width and width or nil
    local key, d = key_of(w, narrow), have[w.hunk.hunkId]
    if d and d.key == key then
      d.proposal, d.file, d.hunk = w.proposal, w.file, w.hunk
      have[w.hunk.hunkId] = nil
    else
      d = vim.tbl_extend('force', w, { buf = buf, key = key })
      d.mark, d.others, d.below = place(buf, w, narrow)
    end
    now[w.hunk.hunkId] = d
  end
  for _, d in pairs(have) do
    erase(buf, d)
  end
  drawn[buf] = next(now) and now or nil
  if next(now) then
    keys.map(buf)
    keys.hint(buf, M.rows(buf))
  else
    keys.unmap(buf)
  end
  make_room(buf)
end

--- Returns a buffer's drawn hunks in order, each with its first and last row.
---@param buf integer
---@return { row: integer, last: integer, item: agent_lsp.Drawn }[]
function M.rows(buf)
  local out = {}
  for _, d in pairs(drawn[buf] or {}) do
    local pos = vim.api.nvim_buf_get_extmark_by_id(buf, ns, d.mark, { details = true })
    if pos[1] then
      local stop, col = pos[3].end_row or pos[1], pos[3].end_col or 0
      table.insert(
        out,
        { row = pos[1], last = math.max(pos[1], col == 0 and stop - 1 or stop), item = d }
      )
    end
  end
  table.sort(out, function(a, b)
    return a.row < b.row or (a.row == b.row and a.last < b.last)
  end)
  return out
end

--- Returns a hunk's current first row and number of lines. It uses the hunk's mark or, if the hunk
--- is not drawn, the range that the daemon reported.
---@param w agent_lsp.Waiting
---@return integer row
---@return integer lines
function M.place_of(w)
  local buf = M.buffer(hunks.uri(w.file))
  local shown = hunks.split(w.file.placement == 'applied' and w.hunk.newText or w.hunk.oldText)
  local d = buf and drawn[buf] and drawn[buf][w.hunk.hunkId]
  local pos = d and vim.api.nvim_buf_get_extmark_by_id(buf, ns, d.mark, {})
  if pos and pos[1] then
    return pos[1] + d.below, #shown
  end
  return w.hunk.range.start.line, #shown
end

events.on('review', function(params)
  for _, uri in ipairs(params.uris) do
    local buf = M.buffer(uri)
    if buf then
      M.buffer_hunks(buf)
    end
  end
end)

local group = vim.api.nvim_create_augroup('agent_lsp_review', { clear = true })

vim.api.nvim_create_autocmd('BufReadPost', {
  group = group,
  callback = function(args)
    if hunks.count() > 0 then
      M.buffer_hunks(args.buf, true)
    end
  end,
})

vim.api.nvim_create_autocmd('WinResized', {
  group = group,
  callback = function()
    for _, win in ipairs(hunks.count() > 0 and vim.v.event.windows or {}) do
      local buf = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win)
      if buf and drawn[buf] then
        M.buffer_hunks(buf)
      end
    end
  end,
})

--- Moves the hint with the cursor.
vim.api.nvim_create_autocmd('CursorMoved', {
  group = group,
  callback = function(args)
    if drawn[args.buf] then
      keys.hint(args.buf, M.rows(args.buf))
    end
  end,
})

vim.api.nvim_create_autocmd('BufWinEnter', {
  group = group,
  callback = function(args)
    if hunks.count() > 0 and not drawn[args.buf] and vim.bo[args.buf].buftype == '' then
      M.buffer_hunks(args.buf)
    end
  end,
})

--- After a buffer gets a new file name, draws the hunks of the new file. A copy that was made with
--- `:saveas` therefore does not show the original file's hunks.
vim.api.nvim_create_autocmd('BufFilePost', {
  group = group,
  callback = function(args)
    if hunks.count() > 0 and vim.api.nvim_buf_is_loaded(args.buf) then
      M.buffer_hunks(args.buf)
    end
  end,
})

vim.api.nvim_create_autocmd({ 'BufUnload', 'BufDelete' }, {
  group = group,
  callback = function(args)
    drawn[args.buf] = nil
  end,
})

M.namespace = ns
return M
