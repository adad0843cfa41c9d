--- Answers agent/editor/* requests, with which the daemon queries the editor's own language
--- servers.
local fresh = require('agent_lsp.fresh')
local lsp = require('agent_lsp.lsp')
local peek = require('agent_lsp.peek')
local position = require('agent_lsp.position')

local M = { handlers = {} }

local methods = {
  definition = 'textDocument/definition',
  references = 'textDocument/references',
  implementation = 'textDocument/implementation',
  hover = 'textDocument/hover',
  documentSymbol = 'textDocument/documentSymbol',
  workspaceSymbol = 'workspace/symbol',
}

--- Returns the position encoding that was negotiated with a daemon.
local function encoding_of(client_id)
  local c = client_id and vim.lsp.get_client_by_id(client_id)
  return c and c.offset_encoding or 'utf-16'
end

--- Returns a buffer's diagnostics in the format of LSP, without the diagnostics from agent-lsp.
local function diagnostics(buf, encoding)
  local read, uri = position.reader(), vim.uri_from_bufnr(buf)
  local function place(row, byte)
    return { line = row, character = position.from_byte(read(uri, row), byte, encoding) }
  end
  local out = {}
  for _, d in ipairs(vim.diagnostic.get(buf)) do
    if d.source ~= 'agent-lsp' then
      table.insert(out, {
        range = {
          start = place(d.lnum, d.col),
          ['end'] = place(d.end_lnum or d.lnum, d.end_col or d.col),
        },
        severity = d.severity,
        source = d.source,
        code = d.code,
        message = d.message,
      })
    end
  end
  return out
end

M.diagnostics = diagnostics

local function all_diagnostics(encoding)
  local out = vim.empty_dict()
  local buffers = {}
  for _, d in ipairs(vim.diagnostic.get(nil)) do
    buffers[d.bufnr] = vim.api.nvim_buf_is_valid(d.bufnr)
      and vim.api.nvim_buf_get_name(d.bufnr) ~= ''
  end
  for buf, named in pairs(buffers) do
    local list = named and diagnostics(buf, encoding) or {}
    if #list > 0 then
      out[vim.uri_from_bufnr(buf)] = list
    end
  end
  return out
end

--- Returns a server other than agent-lsp that supports the method for the buffer.
local function server(buf, method)
  local clients = vim.lsp.get_clients(method ~= 'workspace/symbol' and { bufnr = buf } or nil)
  for _, c in ipairs(clients) do
    if c.name ~= 'agent_lsp' and lsp.supports(c, method, buf) then
      return c
    end
  end
end

--- Sends one request and yields until the response arrives.
local function await(c, method, params, buf)
  local co = coroutine.running()
  local ok = lsp.request(c, method, params, function(err, result)
    coroutine.resume(co, err, result)
  end, buf)
  if not ok then
    return nil
  end
  local err, result = coroutine.yield()
  if err then
    return nil, vim.lsp.rpc_response_error(err.code or -32603, err.message)
  end
  return result
end

--- Calls ask with the query's position in server c's encoding, and converts the answer to
--- agent-lsp's encoding.
local function translated(c, p, encoding, ask)
  local there = position.convert(vim.deepcopy(p.position), p.uri, encoding, c.offset_encoding)
  local result, err = ask(there)
  return position.convert(result, p.uri, c.offset_encoding, encoding), err
end

local function calls(direction, p, buf, encoding)
  local c = server(buf, 'textDocument/prepareCallHierarchy')
  if not c then
    return nil,
      vim.lsp.rpc_response_error(
        -32601,
        'no language server in this editor supports call hierarchies'
      )
  end
  return translated(c, p, encoding, function(at)
    local items = await(
      c,
      'textDocument/prepareCallHierarchy',
      { textDocument = { uri = p.uri }, position = at },
      buf
    )
    if not items or not items[1] then
      return {}
    end
    return await(c, 'callHierarchy/' .. direction, { item = items[1] }, buf)
  end)
end

--- Sends the query to one of the editor's servers that supports it.
local function query(p, buf, encoding)
  local method = methods[p.operation]
  if not method then
    return nil, vim.lsp.rpc_response_error(-32602, ('unknown operation %s'):format(p.operation))
  end
  local c = server(buf, method)
  if not c then
    return nil,
      vim.lsp.rpc_response_error(
        -32601,
        ('no language server in this editor supports %s here'):format(p.operation)
      )
  end
  return translated(c, p, encoding, function(at)
    local params = { textDocument = p.uri and { uri = p.uri }, position = at, query = p.query }
    if p.operation == 'references' then
      params.context = { includeDeclaration = true }
    end
    return await(c, method, params, buf)
  end)
end

--- Loads a file for a query if one of the editor's servers handles this kind of file.
local function loaded(uri)
  local buf = vim.uri_to_bufnr(uri)
  if not vim.api.nvim_buf_is_loaded(buf) then
    peek.load(buf)
  end
  return buf
end

--- Returns the diagnostics of one file or of all files. It first waits until the servers have
--- reported on the current text of the files in p.settle.
local function answer_diagnostics(p, buf, encoding)
  local settle = p.settle or { uris = {} }
  local settled = fresh.await(settle.timeoutMs, vim.tbl_map(loaded, settle.uris))
  if not p.uri then
    local all = all_diagnostics(encoding)
    if p.settle then
      all.settled = settled
    end
    return all
  end
  local list = diagnostics(buf, encoding)
  if p.settle and #list == 0 and not fresh.has_server(buf) then
    return nil,
      vim.lsp.rpc_response_error(-32601, 'no language server in this editor handles this file')
  end
  return p.settle and { items = list, settled = settled } or list
end

M.handlers['agent/editor/query'] = function(_, p, ctx)
  local encoding = encoding_of(ctx.client_id)
  peek.refresh()
  local buf = p.uri and loaded(p.uri) or vim.api.nvim_get_current_buf()
  if p.operation == 'diagnostics' then
    return answer_diagnostics(p, buf, encoding)
  elseif p.operation == 'incomingCalls' or p.operation == 'outgoingCalls' then
    return calls(p.operation, p, buf, encoding)
  end
  return query(p, buf, encoding)
end

--- Passes the matching workspace symbols of one of the editor's own servers to done. The list may
--- be empty.
---@param text string
---@param done fun(symbols: table[])
function M.workspace_symbols(text, done)
  for _, c in ipairs(vim.lsp.get_clients()) do
    if c.name ~= 'agent_lsp' and lsp.supports(c, 'workspace/symbol') then
      lsp.request(c, 'workspace/symbol', { query = text }, function(err, result)
        done(not err and result or {})
      end)
      return
    end
  end
  done({})
end

M.handlers['agent/editor/save'] = function(_, p)
  local disk = require('agent_lsp.disk')
  local res = { saved = {}, failed = {} }
  for _, uri in ipairs(p.uris) do
    table.insert(disk.write(vim.uri_to_bufnr(uri)) and res.saved or res.failed, uri)
  end
  return res
end

--- Moves the cursor to a position in the windows that already show the file, except the current
--- one. The focus does not move.
M.handlers['agent/editor/reveal'] = function(_, p)
  local wins = vim.fn.win_findbuf(vim.uri_to_bufnr(p.uri))
  for _, win in ipairs(wins) do
    if p.range and win ~= vim.api.nvim_get_current_win() then
      pcall(vim.api.nvim_win_set_cursor, win, { p.range.start.line + 1, 0 })
    end
  end
  return { shown = #wins > 0 }
end

M.handlers['agent/editor/showDiff'] = function(_, p)
  for _, prop in ipairs(require('agent_lsp.review').proposals()) do
    if prop.proposalId == p.proposalId then
      for _, f in ipairs(prop.files) do
        if f.uri == p.uri then
          return { opened = require('agent_lsp.diff').open(prop, f) }
        end
      end
    end
  end
  return { opened = false }
end

return M
