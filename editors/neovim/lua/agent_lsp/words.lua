--- Finds the words that differ between two lines, for highlighting.
local M = {}

local diff = vim.text and vim.text.diff or vim.diff

--- Longer lines are highlighted as a whole.
local max_length = 1000

--- Splits a line into words. It returns the words, one per line, and the zero-based byte at which
--- each word begins.
local function tokens(line)
  local texts, starts = {}, {}
  local at = 1
  while at <= #line do
    local stop = select(2, line:find('^[%w_\128-\255]+', at))
      or select(2, line:find('^%s+', at))
      or at
    texts[#texts + 1], starts[#starts + 1] = line:sub(at, stop), at - 1
    at = stop + 1
  end
  starts[#starts + 1] = #line
  return table.concat(texts, '\n') .. '\n', starts, #texts
end

local function span(starts, first, len)
  return { starts[first], starts[first + len] }
end

--- Returns the byte spans that differ in the old and the new line, or two empty lists if a line is
--- empty or too long, or the lines have little in common.
---@param old string
---@param new string
---@return integer[][] old_spans
---@return integer[][] new_spans
function M.spans(old, new)
  local a, b = {}, {}
  if #old > max_length or #new > max_length or old == '' or new == '' then
    return a, b
  end
  local old_text, old_starts, old_count = tokens(old)
  local new_text, new_starts, new_count = tokens(new)
  local differing = 0
  for _, h in ipairs(diff(old_text, new_text, { result_type = 'indices' })) do
    if h[2] > 0 then
      a[#a + 1] = span(old_starts, h[1], h[2])
    end
    if h[4] > 0 then
      b[#b + 1] = span(new_starts, h[3], h[4])
    end
    differing = differing + h[2] + h[4]
  end
  if differing > 0.8 * (old_count + new_count) then
    return {}, {}
  end
  return a, b
end

return M
