--- Shows all pending hunks of all files in one buffer, in its own tab, with keys to decide them
--- there.
local contrast = require('agent_lsp.contrast')
local draw = require('agent_lsp.draw')
local events = require('agent_lsp.events')
local hunks = require('agent_lsp.hunks')
local log = require('agent_lsp.log')
local sections = require('agent_lsp.sections')
local syntax = require('agent_lsp.syntax')
local words = require('agent_lsp.words')

local M = {}

local ns = vim.api.nvim_create_namespace('agent_lsp_overview')
local syntax_ns = vim.api.nvim_create_namespace('agent_lsp_overview_syntax')
local key_ns = vim.api.nvim_create_namespace('agent_lsp_overview_keys')
local buffer ---@type integer?
local places = {} ---@type agent_lsp.Place[] sorted by row

vim.api.nvim_set_hl(0, 'AgentLspFile', { link = 'Identifier', default = true })

---@param buf integer
function M.is(buf)
  return buf == buffer
end

--- Returns the hunk at a row.
---@param row integer zero-based
---@return agent_lsp.Waiting?
function M.at(row)
  for _, p in ipairs(places) do
    if row >= p.first and row <= p.last then
      return p.item
    end
  end
end

--- Returns the status line's text: the position of the hunk at the cursor among all hunks.
function M.status()
  local row, total = vim.api.nvim_win_get_cursor(0)[1] - 1, #places
  for i, p in ipairs(places) do
    if row >= p.first and row <= p.last then
      return ('hunk %d of %d'):format(i, total)
    end
  end
  return ('%d pending %s'):format(total, total == 1 and 'hunk' or 'hunks')
end

---@param step 1|-1
function M.jump(step)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for i = step > 0 and 1 or #places, step > 0 and #places or 1, step do
    if (places[i].first - row) * step > 0 then
      return vim.api.nvim_win_set_cursor(0, { places[i].first + 1, 0 })
    end
  end
  log.tell(
    #places == 0 and 'no pending hunks'
      or step > 0 and 'this is the last hunk'
      or 'this is the first hunk'
  )
end

--- The first line of the overview. It explains the keys, which are highlighted.
local key_line = 'a accept  r reject  c comment  e edit  d diff  A/R all  <CR> go there  q close'

local function color_keys()
  local at = 0
  vim.api.nvim_buf_clear_namespace(buffer, key_ns, 0, -1)
  for entry in vim.gsplit(#places > 0 and key_line or '', '  ', { plain = true }) do
    local stop = at + #entry:match('^%S*')
    vim.api.nvim_buf_set_extmark(
      buffer,
      key_ns,
      0,
      at,
      { end_col = stop, hl_group = 'AgentLspKey', priority = 120 }
    )
    at = at + #entry + 2
  end
end

local current = { lines = {}, marks = {}, places = {}, files = {} } ---@type agent_lsp.Sections

--- Adds highlights when lines become visible, so that a review of thousands of hunks opens
--- immediately.
vim.api.nvim_set_decoration_provider(ns, {
  on_win = function(_, _, buf, top, bottom)
    if buf ~= buffer then
      return false
    end
    M.want_colors(top, bottom)
    for row = top, bottom do
      local m = current.marks[row]
      if m then
        local line =
          { end_row = row + 1, hl_group = m[1], hl_eol = true, ephemeral = true, priority = 100 }
        pcall(vim.api.nvim_buf_set_extmark, buf, ns, row, 0, line)
        for _, s in ipairs(m.spans or {}) do
          local span = { end_col = s[2], hl_group = s[3], ephemeral = true, priority = 120 }
          pcall(vim.api.nvim_buf_set_extmark, buf, ns, row, s[1], span)
        end
        for _, s in ipairs(m[2] and select(m[2][3], words.spans(m[2][1], m[2][2])) or {}) do
          local span = { end_col = s[2] + 1, hl_group = m[2][4], ephemeral = true, priority = 120 }
          pcall(vim.api.nvim_buf_set_extmark, buf, ns, row, s[1] + 1, span)
        end
      end
    end
  end,
})

--- The maximum number of lines in a hunk that has syntax colors.
local max_colored = 500

local line_groups = { ['+'] = 'AgentLspAdd', ['-'] = 'AgentLspDelete' }

--- Reports whether a syntax color is easy to read on a line's background color.
local function is_readable(group, line)
  local surface = line_groups[line:sub(1, 1)]
  local ratio = surface and contrast.of(group, surface)
  return not ratio or ratio >= contrast.least
end

--- Adds the syntax colors to a hunk's lines.
---@param p agent_lsp.Place
local function color(p)
  local lines = vim.api.nvim_buf_get_lines(buffer, p.first + 1, p.last + 1, false)
  if #lines > max_colored then
    return
  end
  local code = vim.tbl_map(function(line)
    return line:sub(2)
  end, lines)
  for i, spans in ipairs(syntax.colors(p.path, code)) do
    for _, s in
      ipairs(vim.tbl_filter(function(s)
        return is_readable(s[3], lines[i])
      end, spans))
    do
      local mark = { end_col = s[2] + 1, hl_group = s[3], priority = 110 }
      vim.api.nvim_buf_set_extmark(buffer, syntax_ns, p.first + i, s[1] + 1, mark)
    end
  end
end

local colored = {} ---@type table<agent_lsp.Place, boolean>
local wanted ---@type { [1]: integer, [2]: integer }? rows that wait for colors

local function color_wanted()
  local rows = wanted
  wanted = nil
  if not rows or not buffer or not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  for _, p in ipairs(places) do
    if p.last >= rows[1] and p.first <= rows[2] and not colored[p] then
      colored[p] = true
      color(p)
    end
  end
end

--- Schedules syntax colors for the hunks at these rows, because no other buffer can be read while
--- the screen is drawn.
---@param top integer
---@param bottom integer
function M.want_colors(top, bottom)
  if not wanted then
    vim.schedule(color_wanted)
  end
  wanted =
    { math.min(top, wanted and wanted[1] or top), math.max(bottom, wanted and wanted[2] or bottom) }
end

local function refresh()
  if not buffer or not vim.api.nvim_buf_is_valid(buffer) then
    buffer = nil
    return
  end
  current = sections.build({ key_line, '' })
  current.marks[0] = { 'AgentLspHint' }
  places, colored = current.places, {}
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_clear_namespace(buffer, syntax_ns, 0, -1)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, current.lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].modified = false, false
  color_keys()
end

--- Returns the ids of the hunks from the window's cursor to the end, with the cursor's offset in
--- each.
local function following(win)
  local row, out = vim.api.nvim_win_get_cursor(win)[1] - 1, {}
  for _, p in ipairs(places) do
    if p.last >= row then
      table.insert(out, { id = p.item.hunk.hunkId, offset = math.max(0, row - p.first) })
    end
  end
  return out
end

--- Moves a window's cursor to the first of the given hunks that is still pending, or to the last
--- hunk.
local function go_to_hunk(win, wanted_hunks)
  local by_id = {}
  for _, p in ipairs(places) do
    by_id[p.item.hunk.hunkId] = p
  end
  for i, w in ipairs(wanted_hunks) do
    local p = by_id[w.id]
    if p then
      local row = i == 1 and math.min(p.first + w.offset, p.last) or p.first
      return vim.api.nvim_win_set_cursor(win, { row + 1, 0 })
    end
  end
  vim.api.nvim_win_set_cursor(win, { places[#places].first + 1, 0 })
end

--- Closes the tab when all hunks are decided.
local function finish()
  vim.cmd.bwipeout(buffer)
  buffer = nil
  log.tell('no pending hunks are left; the review is closed')
end

events.on('review', function()
  if not buffer then
    return
  end
  local at = {}
  for _, win in ipairs(vim.fn.win_findbuf(buffer)) do
    at[win] = following(win)
  end
  refresh()
  if not buffer then
    return
  end
  if #places == 0 then
    return finish()
  end
  for win, list in pairs(at) do
    go_to_hunk(win, list)
  end
end)

--- Goes to the hunk in its document. In the list of files, it goes to the file's first hunk.
local function go_there()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local w = M.at(row)
  if current.files[row] then
    return vim.api.nvim_win_set_cursor(0, { current.files[row] + 1, 0 })
  elseif not w then
    return
  end
  local own = vim.api.nvim_get_current_win()
  local wins = vim.fn.win_findbuf(draw.buffer(hunks.uri(w.file)) or -1)
  if #wins > 0 then
    vim.api.nvim_set_current_win(wins[1])
  else
    pcall(vim.cmd.tabprevious)
    if vim.api.nvim_get_current_win() == own then
      vim.cmd.tabnew()
    end
  end
  require('agent_lsp.review').show(w)
end

local function map_keys(buf)
  local review = require('agent_lsp.review')
  local function map(lhs, fn, desc)
    vim.keymap.set('n', lhs, fn, { buffer = buf, nowait = true, desc = 'agent-lsp: ' .. desc })
  end
  local function decide(action, all)
    return function()
      review.decide(action, { all = all })
    end
  end
  map('a', decide('accept'), 'accept the hunk')
  map('r', decide('reject'), 'reject the hunk')
  map('A', decide('accept', true), 'accept all')
  map('R', decide('reject', true), 'reject all')
  map('c', review.comment, 'reject with a comment')
  map('e', review.edit, 'edit the hunk, then accept it')
  map('d', function()
    require('agent_lsp.diff').open()
  end, 'base and proposal side by side')
  map('<CR>', go_there, 'go to the hunk')
  map('q', vim.cmd.bwipeout, 'close the review')
  for lhs, step in pairs({ [']h'] = 1, ['[h'] = -1 }) do
    map(lhs, function()
      M.jump(step)
    end, 'next or previous hunk')
  end
end

--- Sets options that apply only while this window shows this buffer. They do not affect a buffer
--- that the user opens there later.
local function set_options(win)
  for name, value in pairs({
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    list = false,
    wrap = false,
    spell = false,
    colorcolumn = '',
    conceallevel = 0,
    fillchars = 'eob: ',
    winbar = '',
    statusline = " %{v:lua.require'agent_lsp.overview'.status()}",
  }) do
    vim.wo[win][0][name] = value
  end
end

--- Opens the overview in a tab, or switches to it.
function M.open()
  if hunks.count() == 0 then
    return log.tell('no pending hunks')
  end
  if buffer and vim.api.nvim_buf_is_valid(buffer) and vim.fn.win_findbuf(buffer)[1] then
    return vim.api.nvim_set_current_win(vim.fn.win_findbuf(buffer)[1])
  end
  vim.cmd.tabnew()
  local empty = vim.api.nvim_get_current_buf()
  buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, 'agent-lsp review')
  vim.bo[buffer].bufhidden, vim.bo[buffer].filetype = 'wipe', 'agent_lsp_review'
  vim.api.nvim_win_set_buf(0, buffer)
  pcall(vim.api.nvim_buf_delete, empty, {})
  set_options(0)
  map_keys(buffer)
  refresh()
  if places[1] then
    vim.api.nvim_win_set_cursor(0, { places[1].first + 1, 0 })
  end
end

return M
