--- Builds the lines of the review: a list of the files, then each file with its hunks and their
--- context.
local draw = require('agent_lsp.draw')
local hunks = require('agent_lsp.hunks')

local diff = vim.text and vim.text.diff or vim.diff

local M = {}

--- The number of document lines that are shown before and after a hunk.
local context = 3

---@class agent_lsp.Place a hunk in the review; its rows are zero-based, and last is inclusive
---@field first integer
---@field last integer
---@field item agent_lsp.Waiting
---@field path string

---@class agent_lsp.Sections
---@field lines string[]
---@field marks table<integer, table> by row: the highlight, the differing words, other spans
---@field places agent_lsp.Place[] sorted by row
---@field files table<integer, integer> the row of each file's first hunk, by the row in the list

local function shown(uri)
  return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.')
end

local function count(n, what)
  return ('%d %s%s'):format(n, what, n == 1 and '' or 's')
end

local function heading(uri, list)
  local note = ''
  for _, w in ipairs(list) do
    local f = w.file
    if f.op == 'rename' then
      local was = (' (was %s)'):format(shown(f.uri))
      note = f.placement == 'applied' and was or ' → ' .. shown(f.newUri)
    elseif f.op ~= 'modify' then
      note = (' (%s)'):format(f.op)
    end
  end
  return ('%s%s, %s'):format(shown(uri), note, count(#list, 'hunk'))
end

--- Returns the lines that differ between the two texts. A rename's hunk contains the complete file,
--- but the review shows only the differing lines.
local function differing(old, new)
  local a, b = {}, {}
  local before, after = table.concat(old, '\n') .. '\n', table.concat(new, '\n') .. '\n'
  for _, c in ipairs(diff(before, after, { result_type = 'indices' })) do
    vim.list_extend(a, old, c[1], c[1] + c[2] - 1)
    vim.list_extend(b, new, c[3], c[3] + c[4] - 1)
  end
  return a, b
end

--- Files larger than this are not read from disk for the lines around a hunk.
local max_bytes = 4 * 1024 * 1024

--- Returns a function that reads a document's lines from its buffer or, if it has no buffer, from
--- its file.
---@return fun(first: integer, last: integer): string[] returns rows first to last, without last
local function document(uri)
  local buf = draw.buffer(uri)
  if buf then
    return function(first, last)
      return vim.api.nvim_buf_get_lines(buf, first, last, false)
    end
  end
  local path = vim.uri_to_fname(uri)
  local size = vim.fn.getfsize(path)
  local lines = size > 0 and size <= max_bytes and vim.fn.readfile(path) or {}
  return function(first, last)
    return vim.list_slice(lines, first + 1, last)
  end
end

--- Returns the rows to show around each hunk. No row is returned twice, and no row belongs to
--- another hunk.
---@param list agent_lsp.Waiting[] the hunks of one file
---@return table[] before, row, stop and after of each, in the order of the list
local function surroundings(list)
  local out = {}
  for i, w in ipairs(list) do
    local row, lines = draw.place_of(w)
    out[i] = { row = row, stop = row + lines }
  end
  local sorted = vim.list_slice(out)
  table.sort(sorted, function(a, b)
    return a.row < b.row
  end)
  for i, s in ipairs(sorted) do
    local before, after = sorted[i - 1], sorted[i + 1]
    s.before = math.max(before and before.after or 0, s.row - context)
    s.after = math.max(s.stop, math.min(after and after.row or math.huge, s.stop + context))
  end
  return out
end

local function add_context(out, read, first, last)
  for _, line in ipairs(first < last and read(first, last) or {}) do
    out.lines[#out.lines + 1] = ' ' .. line:gsub('\r$', '')
  end
end

--- Adds a hunk: its position, the lines around it, and the removed and added lines.
local function add_hunk(out, w, at, read)
  local stale = w.hunk.state == 'stale'
  local lines, marks, first = out.lines, out.marks, #out.lines
  marks[first] = { stale and 'AgentLspStale' or 'AgentLspHint' }
  local note = stale and ', stale: the text has changed' or ''
  lines[#lines + 1] = ('@@ line %d%s'):format(at.row + 1, note)
  local old, new = hunks.split(w.hunk.oldText), hunks.split(w.hunk.newText)
  local around = not stale and w.file.op == 'modify'
  if w.file.op == 'rename' then
    old, new = differing(old, new)
  end
  if around then
    add_context(out, read, at.before, at.row)
  end
  local same = #old == #new
  for i, line in ipairs(old) do
    local differs = same and { line, new[i], 1, 'AgentLspDeleteText' } or nil
    marks[#lines] = { 'AgentLspDelete', differs }
    lines[#lines + 1] = '-' .. line
  end
  for i, line in ipairs(new) do
    local differs = same and { old[i], line, 2, 'AgentLspAddText' } or nil
    marks[#lines] = { 'AgentLspAdd', differs }
    lines[#lines + 1] = '+' .. line
  end
  if around then
    add_context(out, read, at.stop, at.after)
  end
  local path = vim.uri_to_fname(hunks.uri(w.file))
  table.insert(out.places, { first = first, last = #lines - 1, item = w, path = path })
end

--- Returns the hunks of all files, grouped by file.
local function by_file()
  local uris, lists = hunks.uris(), {}
  for _, w in ipairs(hunks.pending()) do
    local uri = hunks.uri(w.file)
    lists[uri] = lists[uri] or {}
    table.insert(lists[uri], w)
  end
  return uris, lists
end

--- Adds the list of files, if there are several.
local function add_files(out, uris, lists)
  if #uris < 2 then
    return
  end
  local wide = 0
  for _, uri in ipairs(uris) do
    wide = math.max(wide, vim.api.nvim_strwidth(shown(uri)))
  end
  for _, uri in ipairs(uris) do
    local path, added, removed = shown(uri), 0, 0
    for _, w in ipairs(lists[uri]) do
      local plus, minus = hunks.line_counts(w.hunk)
      added, removed = added + plus, removed + minus
    end
    local gap = (' '):rep(wide - vim.api.nvim_strwidth(path))
    local plus, minus = '+' .. added, '-' .. removed
    local line = ('  %s%s  %-7s  '):format(path, gap, count(#lists[uri], 'hunk'))
    out.marks[#out.lines] = {
      'AgentLspFile',
      spans = {
        { #line, #line + #plus, 'AgentLspAdded' },
        { #line + #plus + 1, #line + #plus + 1 + #minus, 'AgentLspRemoved' },
      },
    }
    out.lines[#out.lines + 1] = ('%s%s %s'):format(line, plus, minus)
  end
  out.lines[#out.lines + 1] = ''
end

--- Returns the complete review, beginning with the given lines.
---@param first string[] the first lines
---@return agent_lsp.Sections
function M.build(first)
  local out = { lines = vim.list_slice(first), marks = {}, places = {}, files = {} }
  local uris, lists = by_file()
  add_files(out, uris, lists)
  for i, uri in ipairs(uris) do
    local list = lists[uri]
    local around, read = surroundings(list), document(uri)
    out.marks[#out.lines] = { 'Title' }
    out.lines[#out.lines + 1] = heading(uri, list)
    if #uris > 1 then
      out.files[#first + i - 1] = #out.lines
    end
    for n, w in ipairs(list) do
      add_hunk(out, w, around[n], read)
    end
    out.lines[#out.lines + 1] = ''
  end
  return out
end

return M
