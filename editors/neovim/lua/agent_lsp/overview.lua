--- All pending hunks of all files in one buffer, in a tab of its own, with keys to decide them there.
local draw = require('agent_lsp.draw')
local events = require('agent_lsp.events')
local hunks = require('agent_lsp.hunks')
local log = require('agent_lsp.log')
local words = require('agent_lsp.words')

local diff = vim.text and vim.text.diff or vim.diff

local M = {}

local ns = vim.api.nvim_create_namespace('agent_lsp_overview')
local key_ns = vim.api.nvim_create_namespace('agent_lsp_overview_keys')
local buffer ---@type integer?
local places = {} ---@type { first: integer, last: integer, item: agent_lsp.Waiting }[] in the order of rows

---@param buf integer
function M.is(buf)
  return buf == buffer
end

--- The hunk of a row.
---@param row integer zero-based
---@return agent_lsp.Waiting?
function M.at(row)
  for _, p in ipairs(places) do
    if row >= p.first and row <= p.last then
      return p.item
    end
  end
end

---@param step 1|-1
function M.jump(step)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for i = step > 0 and 1 or #places, step > 0 and #places or 1, step do
    if (places[i].first - row) * step > 0 then
      return vim.api.nvim_win_set_cursor(0, { places[i].first + 1, 0 })
    end
  end
  log.tell(#places == 0 and 'no pending hunks' or step > 0 and 'this is the last hunk' or 'this is the first hunk')
end

local function shown(uri)
  return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.')
end

local function heading(uri, list)
  local note = ''
  for _, w in ipairs(list) do
    local f = w.file
    if f.op == 'rename' then
      note = f.placement == 'applied' and (' (was %s)'):format(shown(f.uri)) or ' → ' .. shown(f.newUri)
    elseif f.op ~= 'modify' then
      note = (' (%s)'):format(f.op)
    end
  end
  return ('%s%s, %d %s'):format(shown(uri), note, #list, #list == 1 and 'hunk' or 'hunks')
end

--- What differs of two texts: a rename's hunk holds the whole file.
local function differing(old, new)
  local a, b = {}, {}
  for _, c in ipairs(diff(table.concat(old, '\n') .. '\n', table.concat(new, '\n') .. '\n', { result_type = 'indices' })) do
    vim.list_extend(a, old, c[1], c[1] + c[2] - 1)
    vim.list_extend(b, new, c[3], c[3] + c[4] - 1)
  end
  return a, b
end

--- What the keys do, as the first line says it; the keys themselves stand out.
local key_line = 'a accept  r reject  c comment  e edit  d diff  A/R all  <CR> go there  q close'

local function colour_keys()
  local at = 0
  vim.api.nvim_buf_clear_namespace(buffer, key_ns, 0, -1)
  for entry in vim.gsplit(#places > 0 and key_line or '', '  ', { plain = true }) do
    local stop = at + #entry:match('^%S*')
    vim.api.nvim_buf_set_extmark(buffer, key_ns, 0, at, { end_col = stop, hl_group = 'AgentLspKey', priority = 120 })
    at = at + #entry + 2
  end
end

--- The lines of all hunks, and a mark of each line: its highlight and the spans of words that differ.
local function render()
  local lines, marks = { key_line, '' }, {}
  places = {}
  marks[0] = { 'AgentLspHint' }
  for _, uri in ipairs(hunks.uris()) do
    local list = hunks.pending(uri)
    marks[#lines] = { 'Title' }
    lines[#lines + 1] = heading(uri, list)
    for _, w in ipairs(list) do
      local first = #lines
      marks[first] = { w.hunk.state == 'stale' and 'AgentLspStale' or 'AgentLspHint' }
      lines[#lines + 1] = ('@@ line %d%s'):format(draw.place_of(w) + 1, w.hunk.state == 'stale' and ', stale: its text has changed' or '')
      local old, new = hunks.split(w.hunk.oldText), hunks.split(w.hunk.newText)
      if w.file.op == 'rename' then
        old, new = differing(old, new)
      end
      for i, line in ipairs(old) do
        marks[#lines] = { 'AgentLspDelete', #old == #new and { line, new[i], 1, 'AgentLspDeleteText' } or nil }
        lines[#lines + 1] = '-' .. line
      end
      for i, line in ipairs(new) do
        marks[#lines] = { 'AgentLspAdd', #old == #new and { old[i], line, 2, 'AgentLspAddText' } or nil }
        lines[#lines + 1] = '+' .. line
      end
      places[#places + 1] = { first = first, last = #lines - 1, item = w }
    end
    lines[#lines + 1] = ''
  end
  return lines, marks
end

local current_marks = {}

--- Highlights are put on as lines come into view: a review of thousands of hunks opens at once.
vim.api.nvim_set_decoration_provider(ns, {
  on_win = function(_, _, buf, top, bottom)
    if buf ~= buffer then
      return false
    end
    for row = top, bottom do
      local m = current_marks[row]
      if m then
        pcall(
          vim.api.nvim_buf_set_extmark,
          buf,
          ns,
          row,
          0,
          { end_row = row + 1, hl_group = m[1], hl_eol = true, ephemeral = true, priority = 100 }
        )
        for _, s in ipairs(m[2] and select(m[2][3], words.spans(m[2][1], m[2][2])) or {}) do
          local span = { end_col = s[2] + 1, hl_group = m[2][4], ephemeral = true, priority = 110 }
          pcall(vim.api.nvim_buf_set_extmark, buf, ns, row, s[1] + 1, span)
        end
      end
    end
  end,
})

local function refresh()
  if not buffer or not vim.api.nvim_buf_is_valid(buffer) then
    buffer = nil
    return
  end
  local lines
  lines, current_marks = render()
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].modified = false, false
  colour_keys()
end

--- Puts the cursor of a window on the hunk at its row, else on the next one, else on the last.
local function go_to_hunk(win)
  local row = vim.api.nvim_win_get_cursor(win)[1] - 1
  for _, p in ipairs(places) do
    if p.last >= row then
      return vim.api.nvim_win_set_cursor(win, { math.max(p.first, math.min(row, p.last)) + 1, 0 })
    end
  end
  vim.api.nvim_win_set_cursor(win, { places[#places].first + 1, 0 })
end

--- Closes the tab once all is decided.
local function finish()
  vim.cmd.bwipeout(buffer)
  buffer = nil
  log.tell('there are no pending hunks left; the review is closed')
end

events.on('review', function()
  if not buffer then
    return
  end
  refresh()
  if not buffer then
    return
  end
  if #places == 0 then
    return finish()
  end
  for _, win in ipairs(vim.fn.win_findbuf(buffer)) do
    go_to_hunk(win)
  end
end)

local function go_there()
  local w = M.at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  if not w then
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

--- Options of this window with this buffer, and of nothing else: not of what the user opens there next.
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
    statusline = ' pending hunks',
  }) do
    vim.wo[win][0][name] = value
  end
end

--- Opens the overview in a tab, or goes to it.
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
