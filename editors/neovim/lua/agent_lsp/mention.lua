--- Resolves each @ in a prompt to a file, lines of a file, a buffer, diagnostics or a symbol.
local client = require('agent_lsp.client')
local editor = require('agent_lsp.editor')

local M = {}

--- Returns a path for display. A path in the current workspace is relative to its root.
local function shown(path)
  local root = client.root()
  return vim.startswith(path, root .. '/') and path:sub(#root + 2) or path
end

local function full(path)
  local root = client.root()
  return vim.startswith(path, '/') and path or root .. '/' .. path
end

local function documents()
  return vim.tbl_filter(function(buf)
    return vim.bo[buf].buflisted
      and vim.bo[buf].buftype == ''
      and vim.api.nvim_buf_get_name(buf) ~= ''
  end, vim.api.nvim_list_bufs())
end

local function diagnostics_text()
  local out = {}
  for _, d in ipairs(vim.diagnostic.get(nil)) do
    if d.source ~= 'agent-lsp' and vim.api.nvim_buf_is_valid(d.bufnr) then
      local path = shown(vim.api.nvim_buf_get_name(d.bufnr))
      table.insert(
        out,
        ('%s:%d: %s: %s'):format(
          path,
          d.lnum + 1,
          vim.diagnostic.severity[d.severity]:lower(),
          d.message
        )
      )
    end
  end
  return #out > 0 and 'Diagnostics from the editor:\n' .. table.concat(out, '\n')
    or 'The editor shows no diagnostics.'
end

local function buffers_text()
  return 'Files open in the editor:\n'
    .. table.concat(
      vim.tbl_map(function(buf)
        return shown(vim.api.nvim_buf_get_name(buf))
          .. (vim.bo[buf].modified and ' (unsaved)' or '')
      end, documents()),
      '\n'
    )
end

local words = {
  diagnostics = { menu = 'problems shown in the editor', text = diagnostics_text },
  buffers = { menu = 'open files', text = buffers_text },
}

--- Returns a prompt's content: its text, and a block for each @ that refers to something.
---@param text string
---@return string|agent_lsp.ContentBlock[]
function M.blocks(text)
  local out = { { type = 'text', text = text } }
  for word in text:gmatch('@([%w%._/%-:]+)') do
    word = word:gsub('[.:]+$', '')
    local path, first, last = word:match('^(.-):(%d+)%-?(%d*)$')
    local file = full(path or word)
    if words[word] then
      table.insert(out, { type = 'text', text = words[word].text() })
    elseif vim.fn.filereadable(file) == 1 or vim.fn.bufexists(file) == 1 then
      local block = { type = 'resource', uri = vim.uri_from_fname(file) }
      if first then
        local stop = last ~= '' and tonumber(last) or tonumber(first)
        block.range = {
          start = { line = tonumber(first) - 1, character = 0 },
          ['end'] = { line = stop, character = 0 },
        }
      end
      table.insert(out, block)
    end
  end
  return #out > 1 and out or text
end

local function fixed(query)
  local out, seen = {}, {}
  for word, w in pairs(words) do
    if vim.startswith(word, query) then
      table.insert(out, { word = '@' .. word, menu = w.menu })
    end
  end
  for _, buf in ipairs(documents()) do
    local path = shown(vim.api.nvim_buf_get_name(buf))
    if path:lower():find(query:lower(), 1, true) then
      seen[path] = true
      table.insert(out, { word = '@' .. path, menu = 'buffer' })
    end
  end
  table.sort(out, function(a, b)
    return a.word < b.word
  end)
  return out, seen
end

local function symbols(query, done)
  editor.workspace_symbols(query, function(list)
    local out = {}
    for i = 1, math.min(#list, 20) do
      local s = list[i]
      local line = s.location.range and s.location.range.start.line + 1 or 1
      local path = shown(vim.uri_to_fname(s.location.uri))
      table.insert(
        out,
        { word = ('@%s:%d'):format(path, line), abbr = '@#' .. s.name, menu = path }
      )
    end
    done(out)
  end)
end

--- Returns the completions that are available without a request: the fixed words, open buffers, and
--- files by the beginning of their path.
---@param query string
---@return string[]
function M.at_once(query)
  local known, seen = fixed(query)
  local out = vim.tbl_map(function(w)
    return w.word
  end, known)
  for _, path in ipairs(vim.fn.getcompletion(full(query), 'file')) do
    path = shown(vim.fs.normalize(path)) .. (path:sub(-1) == '/' and '/' or '')
    if not seen[path] then
      table.insert(out, '@' .. path)
    end
  end
  return out
end

--- Completes the text after an @.
---@param query string
---@param done fun(words: table[])
function M.complete(query, done)
  if query:sub(1, 1) == '#' then
    return symbols(query:sub(2), done)
  end
  local out, seen = fixed(query)
  client.request('agent/files/search', { query = query, limit = 20 }, function(err, res)
    for _, f in ipairs(not err and res.files or {}) do
      local path = shown(vim.uri_to_fname(f.uri))
      if not seen[path] then
        table.insert(out, { word = '@' .. path, menu = 'file' })
      end
    end
    done(out)
  end)
end

return M
