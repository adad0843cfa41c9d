--- Converts positions between byte columns and the units of an encoding.
local M = {}

local new_api = vim.fn.has('nvim-0.11') == 1

--- Converts a character offset in a line to a byte column. An offset after the end of the line is
--- converted to the end of the line.
---@param line string
---@param character integer
---@param encoding string utf-8, utf-16 or utf-32
---@return integer
function M.to_byte(line, character, encoding)
  if encoding == 'utf-8' then
    return math.min(character, #line)
  end
  local ok, col
  if new_api then
    ok, col = pcall(vim.str_byteindex, line, encoding, character, false)
  else
    ok, col = pcall(vim.str_byteindex, line, character, encoding == 'utf-16')
  end
  return ok and col or #line
end

--- Converts a byte column in a line to a character offset.
---@param line string
---@param byte integer
---@param encoding string
---@return integer
function M.from_byte(line, byte, encoding)
  byte = math.min(byte, #line)
  if encoding == 'utf-8' then
    return byte
  end
  if new_api then
    return vim.str_utfindex(line, encoding, byte, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, byte)
  return encoding == 'utf-16' and utf16 or utf32
end

--- Returns a function that returns the lines of documents from their buffers, or from disk if a
--- document has no buffer.
---@return fun(uri: string, row: integer): string
function M.reader()
  local cache = {}
  return function(uri, row)
    local lines = cache[uri]
    if not lines then
      local path = vim.uri_to_fname(uri)
      local buf = vim.fn.bufnr(path)
      if buf ~= -1 and vim.api.nvim_buf_is_loaded(buf) then
        return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
      end
      lines = vim.fn.filereadable(path) == 1 and vim.fn.readfile(path) or {}
      cache[uri] = lines
    end
    return lines[row + 1] or ''
  end
end

--- Converts each position in an LSP result from one encoding to another, in place.
---@param value any
---@param uri string? the document for positions that do not name a document
---@param from string
---@param to string
function M.convert(value, uri, from, to, read)
  if type(value) ~= 'table' or from == to then
    return value
  end
  read = read or M.reader()
  uri = value.uri or value.targetUri or uri
  if uri and type(value.line) == 'number' and type(value.character) == 'number' then
    local line = read(uri, value.line)
    value.character = M.from_byte(line, M.to_byte(line, value.character, from), to)
    return value
  end
  for key, part in pairs(value) do
    M.convert(part, key == 'originSelectionRange' and nil or uri, from, to, read)
  end
  return value
end

return M
