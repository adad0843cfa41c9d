--- Computes the syntax colors of code that is not in a document, with Vim's own syntax files. A
--- hidden buffer contains the code. The buffer has no file type, so no plugin or language server
--- attaches to it.
local M = {}

local buffers = {} ---@type table<string, integer> by syntax

--- Longer lines are colored only up to this column.
local max_columns = 300

local types = {} ---@type table<string, string> by file name

local function syntax_of(path)
  if not types[path] then
    types[path] = vim.filetype.match({ filename = path }) or ''
  end
  return types[path]
end

local function buffer(syntax)
  local buf = buffers[syntax]
  if not buf or not vim.api.nvim_buf_is_valid(buf) then
    buf = vim.api.nvim_create_buf(false, true)
    buffers[syntax] = buf
    vim.api.nvim_buf_call(buf, function()
      vim.bo.syntax = syntax
    end)
  end
  return buf
end

--- Returns the colored parts of a line in the current buffer.
local function spans(row, length)
  local out, last = {}, nil
  for column = 1, math.min(length, max_columns) do
    local id = vim.fn.synIDtrans(vim.fn.synID(row, column, 1))
    if last and last.id == id then
      last[2] = column
    elseif id ~= 0 then
      last = { column - 1, column, vim.fn.synIDattr(id, 'name'), id = id }
      out[#out + 1] = last
    else
      last = nil
    end
  end
  return out
end

--- Returns the highlighted spans of each line: the first byte (zero-based), the byte after the
--- last, and the highlight group.
---@param path string path of the file that the code comes from
---@param lines string[]
---@return table[][]
function M.colors(path, lines)
  local syntax = syntax_of(path)
  if syntax == '' or vim.g.syntax_on == nil then
    return {}
  end
  local buf, out = buffer(syntax), {}
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.api.nvim_buf_call(buf, function()
    for i, line in ipairs(lines) do
      out[i] = spans(i, #line)
    end
  end)
  return out
end

return M
