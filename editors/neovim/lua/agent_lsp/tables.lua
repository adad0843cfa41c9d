--- Renders Markdown tables with aligned columns. A table becomes plain text in a fence, because
--- Markdown would hide parts of its cells and shift the columns.
local M = {}

--- The minimum width to which a column is reduced if the table does not fit.
local min_width = 6

--- Patterns of links, emphasis and escapes. Each pattern captures the visible text.
local marks = {
  '!?%[(.-)%]%(.-%)',
  '%*%*(.-)%*%*',
  '__(.-)__',
  '~~(.-)~~',
  '%*(%S[^%*]*%S)%*',
  '%*(%S)%*',
  '\\(%p)',
}

--- Returns a cell's visible text, without Markdown markup. Text between backticks is unchanged.
local function visible(cell)
  local code = {}
  local text = cell:gsub('(`+)(.-)%1', function(_, inner)
    code[#code + 1] = vim.trim(inner)
    return '\1' .. #code .. '\2'
  end)
  text = text:gsub('<[bB][rR] ?/?>', ' ')
  for _, mark in ipairs(marks) do
    text = text:gsub(mark, '%1')
  end
  return (text:gsub('\1(%d+)\2', function(n)
    return code[tonumber(n)]
  end))
end

--- Returns a row's cells.
---@param line string
---@return string[]
local function cells(line)
  line = vim.trim(line):gsub('\\|', '\3'):gsub('^|', ''):gsub('|$', '')
  return vim.tbl_map(function(cell)
    return vim.trim((cell:gsub('\3', '|')))
  end, vim.split(line, '|', { plain = true }))
end

--- Returns the alignments from the line below a table's header, or nil for any other line.
---@param line string
---@return ('left'|'right'|'center')[]?
local function alignments(line)
  if not line:find('|', 1, true) or not line:find('-', 1, true) then
    return nil
  end
  local out = {}
  for i, cell in ipairs(cells(line)) do
    local before, behind = cell:match('^(:?)%-+(:?)$')
    if not before then
      return nil
    end
    out[i] = before ~= '' and behind ~= '' and 'center' or behind ~= '' and 'right' or 'left'
  end
  return out
end

--- Returns the width of each column: the width of its longest cell, or less if the table would not
--- fit.
local function widths(rows, columns, room)
  local out, total = {}, 3 * (columns - 1)
  for i = 1, columns do
    out[i] = 1
    for _, row in ipairs(rows) do
      out[i] = math.max(out[i], vim.api.nvim_strwidth(row[i]))
    end
    total = total + out[i]
  end
  while total > room do
    local widest = 1
    for i = 2, columns do
      widest = out[i] > out[widest] and i or widest
    end
    if out[widest] <= min_width then
      break
    end
    out[widest], total = out[widest] - 1, total - 1
  end
  return out
end

--- Splits a word into pieces that are at most width columns wide.
local function pieces(word, width)
  local out = {}
  while vim.api.nvim_strwidth(word) > width do
    local n = vim.fn.strcharlen(word)
    while n > 1 and vim.api.nvim_strwidth(vim.fn.strcharpart(word, 0, n, true)) > width do
      n = math.min(n - 1, width)
    end
    out[#out + 1] = vim.fn.strcharpart(word, 0, n, true)
    word = vim.fn.strcharpart(word, n, vim.fn.strcharlen(word), true)
  end
  out[#out + 1] = word
  return out
end

--- Wraps a cell's text into lines that are at most width columns wide.
local function wrapped(text, width)
  local out = { '' }
  for word in text:gmatch('%S+') do
    for _, piece in ipairs(pieces(word, width)) do
      local last = out[#out]
      local longer = last == '' and piece or last .. ' ' .. piece
      if vim.api.nvim_strwidth(longer) <= width then
        out[#out] = longer
      else
        out[#out + 1] = piece
      end
    end
  end
  return out
end

local function padded(text, width, alignment)
  local gap = width - vim.api.nvim_strwidth(text)
  local left = alignment == 'right' and gap or alignment == 'center' and math.floor(gap / 2) or 0
  return (' '):rep(left) .. text .. (' '):rep(gap - left)
end

--- Adds a row's lines and returns their number.
local function add_row(lines, row, sizes, aligned)
  local parts, height = {}, 1
  for i, cell in ipairs(row) do
    parts[i] = wrapped(cell, sizes[i])
    height = math.max(height, #parts[i])
  end
  for n = 1, height do
    local out = {}
    for i = 1, #row do
      out[i] = padded(parts[i][n] or '', sizes[i], aligned[i])
    end
    lines[#lines + 1] = (table.concat(out, ' │ '):gsub(' +$', ''))
  end
  return height
end

--- Returns a table's lines and the number of lines in its header.
---@param rows string[][] the cells of each row, beginning with the header row
---@param aligned string[]
---@param room integer available columns
local function draw(rows, aligned, room)
  local sizes, lines = widths(rows, #aligned, room), {}
  local rule = table.concat(
    vim.tbl_map(function(n)
      return ('─'):rep(n)
    end, sizes),
    '─┼─'
  )
  local head, tall = add_row(lines, rows[1], sizes, aligned), false
  lines[#lines + 1] = rule
  for i = 2, #rows do
    if tall then
      lines[#lines + 1] = rule -- separates rows that have several lines
    end
    tall = add_row(lines, rows[i], sizes, aligned) > 1
  end
  return lines, head
end

--- Parses the table whose header row is line n.
---@return { rows: string[][], aligned: string[], last: integer }?
local function table_at(lines, n)
  local aligned = lines[n]:find('|', 1, true) and lines[n + 1] and alignments(lines[n + 1])
  if not aligned or #cells(lines[n]) ~= #aligned then
    return nil
  end
  local rows, last = {}, n
  while lines[last] and lines[last]:find('|', 1, true) do
    if last ~= n + 1 then
      local row = cells(lines[last])
      for i = 1, #aligned do
        row[i] = visible(row[i] or '')
      end
      rows[#rows + 1] = vim.list_slice(row, 1, #aligned)
    end
    last = last + 1
  end
  return { rows = rows, aligned = aligned, last = last - 1 }
end

--- Calls fn for each table in the lines, except for tables in code blocks. It calls other for each
--- line outside those tables.
local function each(lines, fn, other)
  local n, fence = 1, nil
  while n <= #lines do
    local mark = lines[n]:match('^ ? ? ?(```+)') or lines[n]:match('^ ? ? ?(~~~+)')
    if mark and not fence then
      fence = mark
    elseif mark and vim.startswith(mark, fence) then
      fence = nil
    end
    local found = not mark and not fence and table_at(lines, n)
    if found then
      fn(found)
      n = found.last
    else
      other(lines[n])
    end
    n = n + 1
  end
end

--- Reports whether the text may contain a table.
---@param text string
function M.has(text)
  return (text:find('|%s*:?%-') or text:find('%-:?%s*|')) ~= nil
end

--- Returns the lines with their tables rendered.
---@param lines string[]
---@param room integer columns of the window
---@param block fun(out: string[], body: string[]): integer adds body, returns lines before it
---@return string[] lines
---@return table[] marks row, columns and highlight of each part
function M.draw(lines, room, block)
  local out, colored = {}, {}
  each(lines, function(found)
    local body, head = draw(found.rows, found.aligned, room)
    local first = #out + block(out, body)
    for i, line in ipairs(body) do
      local group = i <= head and 'Title' or (vim.startswith(line, '─') and 'AgentLspMeta')
      if group then
        table.insert(colored, { first + i - 1, 0, #out[first + i], group })
      end
    end
  end, function(line)
    out[#out + 1] = line
  end)
  return out, colored
end

return M
