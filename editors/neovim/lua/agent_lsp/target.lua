--- Finds the file and line, or the URL, at a position in the transcript. Links and code in
--- backticks may contain spaces.
local M = {}

--- Finds the match of a pattern around a byte in a line, and returns the pattern's last capture.
local function around(line, column, pattern)
  local at = 1
  while true do
    local first, last, inner, more = line:find(pattern, at)
    if not first then
      return nil
    end
    if first <= column and column <= last then
      return more or inner
    end
    at = last + 1
  end
end

--- Returns the target of a Markdown link, decoded and without its brackets and title.
local function decoded(link)
  link = vim.trim(link):gsub('%s+"[^"]*"$', ''):match('^<(.*)>$') or vim.trim(link)
  link = link:gsub('^file://', ''):gsub('#L(%d+).*$', ':%1')
  return link:find('^%w+://') and link or vim.uri_decode(link)
end

--- Splits "path:line" and "path:line:column".
---@param text string
---@return string path
---@return integer? line
function M.split(text)
  local path, line = text:match('^(.-):(%d+)')
  return path or text, tonumber(line)
end

--- Returns the possible file names and URLs at a byte in a line, the best candidate first. The
--- candidates are a link's target, a URL, code in backticks with or without its first word (a
--- call's label is "Read a file.md"), and the word.
---@param line string
---@param column integer one-based
---@return string[]
function M.candidates(line, column)
  local out = {}
  local link = around(line, column, '%[([^%]]*)%]%(([^%)]*)%)')
  table.insert(out, link and decoded(link))
  table.insert(out, around(line, column, '<(%w+://[^>%s]+)>'))
  local code = around(line, column, '(`+)(.-)%1')
  if code then
    table.insert(out, vim.trim(code))
    table.insert(out, code:match('^%s*%S+%s+(.-)%s*$'))
  end
  local word = around(line, column, '(%S+)') or ''
  word = word:gsub('^[%(%[`\'"<@]+', ''):gsub('[%)%]`\'">,;.]+$', '')
  table.insert(out, word)
  return out
end

--- Returns the existing file or the URL at the cursor of the current window. Relative paths start
--- at the root folder.
---@param root string
---@return { address?: string, file?: string, line?: integer, name: string }
function M.under_cursor(root)
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  local list = M.candidates(vim.api.nvim_get_current_line(), column)
  for _, text in ipairs(list) do
    if text:find('^%w+://') then
      return { address = text, name = text }
    end
    local path, line = M.split(text)
    local full = vim.startswith(path, '/') and path or root .. '/' .. path
    if path ~= '' and vim.fn.filereadable(full) == 1 then
      return { file = full, line = line, name = path }
    end
  end
  return { name = (M.split(list[#list])) }
end

return M
