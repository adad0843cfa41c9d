--- Reads and writes the user's agent-lsp settings file. Running daemons reload it when it changes.
local M = {}

--- Returns the file's path: AGENT_LSP_CONFIG if it is set, otherwise a file in the configuration
--- folder.
function M.path()
  if (vim.env.AGENT_LSP_CONFIG or '') ~= '' then
    return vim.env.AGENT_LSP_CONFIG
  end
  local dir = vim.env.XDG_CONFIG_HOME or ''
  if dir == '' and vim.fn.has('win32') == 1 then
    dir = vim.env.LOCALAPPDATA
  elseif dir == '' then
    dir = vim.env.HOME .. (vim.fn.has('mac') == 1 and '/Library/Application Support' or '/.config')
  end
  return dir .. '/agent-lsp/config.json'
end

--- Returns a value as indented JSON with sorted keys.
local function encode(value, indent)
  if type(value) ~= 'table' or next(value) == nil then
    return vim.json.encode(value)
  end
  local inner, parts = indent .. '  ', {}
  if vim.islist(value) then
    for _, v in ipairs(value) do
      table.insert(parts, inner .. encode(v, inner))
    end
    return ('[\n%s\n%s]'):format(table.concat(parts, ',\n'), indent)
  end
  local keys = vim.tbl_keys(value)
  table.sort(keys)
  for _, k in ipairs(keys) do
    table.insert(parts, ('%s%s: %s'):format(inner, vim.json.encode(k), encode(value[k], inner)))
  end
  return ('{\n%s\n%s}'):format(table.concat(parts, ',\n'), indent)
end

local function read(path)
  local file = io.open(path, 'r')
  if not file then
    return vim.empty_dict()
  end
  local text = file:read('*a')
  file:close()
  if vim.trim(text) == '' then
    return vim.empty_dict()
  end
  local ok, value = pcall(vim.json.decode, text)
  return ok and type(value) == 'table' and value or nil
end

--- Sets a provider's base URL and preserves the other settings. A file with comments is not
--- changed.
---@param name string
---@param url string
---@return string? problem
function M.set_provider(name, url)
  local path = M.path()
  local all = read(path)
  if not all then
    local line = ('"providers": {%q: {"baseUrl": %q}}'):format(name, url)
    return ('%s has comments or is not JSON; add %s to it'):format(path, line)
  end
  all.providers = all.providers or {}
  all.providers[name] = all.providers[name] or {}
  all.providers[name].baseUrl = url
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file, problem = io.open(path .. '.new', 'w')
  if not file then
    return problem
  end
  file:write(encode(all, ''), '\n')
  file:close()
  local ok, err = vim.uv.fs_rename(path .. '.new', path)
  return not ok and err or nil
end

return M
