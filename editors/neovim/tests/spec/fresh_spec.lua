--- Tests that diagnostics are sent when the editor's servers have reported on the current text. The
--- cases cover servers that publish with versions, servers that publish without versions, servers
--- that answer requests, and buffers without a server.
local H = require('harness')
local S = require('servers')

--- Creates a server in Neovim that reports diagnostics when the test requests it, by publishing or
--- by answering.
local function diagnostics_server(capabilities)
  local control = { asked = {} }
  local on_exit
  function control.publish(buf, message, version)
    local at = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } }
    control.notify('textDocument/publishDiagnostics', {
      uri = vim.uri_from_bufnr(buf),
      version = version,
      diagnostics = message and { { range = at, message = message } } or {},
    })
  end
  function control.cmd(dispatchers)
    local closing = false
    control.notify = dispatchers.notification
    on_exit = function()
      closing = true
      dispatchers.on_exit(0, 0)
    end
    return {
      request = function(method, params, callback)
        if method == 'textDocument/diagnostic' and control.hold then
          table.insert(control.asked, { uri = params.textDocument.uri, answer = callback })
          return true, 2
        end
        vim.schedule(function()
          callback(
            nil,
            method == 'initialize' and { capabilities = capabilities }
              or method == 'textDocument/diagnostic' and { kind = 'full', items = {} }
              or nil
          )
        end)
        return true, 1
      end,
      notify = function(method)
        if method == 'exit' then
          on_exit()
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        on_exit()
      end,
    }
  end
  return control
end

--- Sends a query like the daemon's. It returns a function that returns the answer once it has
--- arrived.
local function ask(params)
  local answer
  local ctx = { client_id = require('agent_lsp.client').running().id }
  coroutine.wrap(function()
    answer = { require('agent_lsp.editor').handlers['agent/editor/query'](nil, params, ctx) }
  end)()
  return function()
    return answer
  end
end

--- Starts a daemon and a diagnostics server, and opens a buffer that the server handles.
local function with_server(capabilities)
  H.start({ files = { ['a.txt'] = 'one\n', ['b.txt'] = 'two\n' }, script = { { text = 'ok' } } })
  local server = diagnostics_server(capabilities)
  S.serve('text', { name = 'fake', cmd = server.cmd })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.wait('the server', function()
    local c = vim.lsp.get_clients({ bufnr = buf, name = 'fake' })[1]
    return c and c.initialized
  end)
  return server, buf
end

H.case(
  'a diagnostics query waits until a server with versions has published for the current text',
  function()
    local server, buf = with_server({ textDocumentSync = 1 })
    server.publish(buf, nil, vim.lsp.util.buf_versions[buf])
    local uri = vim.uri_from_bufnr(buf)
    local settle = { uris = { uri }, timeoutMs = 60000 }
    H.wait(
      'an answer for a text that the server knows',
      ask({ operation = 'diagnostics', settle = settle })
    )
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'changed' })
    local old = vim.lsp.util.buf_versions[buf]
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'changed again' })
    local all = ask({ operation = 'diagnostics', settle = settle })
    local one = ask({ operation = 'diagnostics', uri = uri, settle = settle })
    server.publish(buf, 'of an old text', old)
    H.settle()
    H.equal({ all(), one() }, {}, 'an old version counts')
    server.publish(buf, 'of this text', vim.lsp.util.buf_versions[buf])
    local result = H.wait('the answer', all)[1]
    H.equal({ result.settled, result[uri][1].message }, { true, 'of this text' })
    result = H.wait('the answer for the file', one)[1]
    H.equal({ result.settled, result.items[1].message }, { true, 'of this text' })
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'once more' })
    result = H.wait(
      'the end of the wait',
      ask({ operation = 'diagnostics', settle = { uris = { uri }, timeoutMs = 20 } })
    )[1]
    H.equal(result.settled, false)
    S.stop()
  end
)

H.case(
  'a server with pull diagnostics is asked about the file and its other open documents',
  function()
    local server, buf = with_server({
      textDocumentSync = 1,
      diagnosticProvider = { interFileDependencies = true, workspaceDiagnostics = false },
    })
    local other = H.edit('b.txt')
    H.wait('the second document', function()
      return vim.lsp.buf_is_attached(other, vim.lsp.get_clients({ name = 'fake' })[1].id)
    end)
    H.settle()
    server.hold = true
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'changed' })
    local answer = ask({
      operation = 'diagnostics',
      settle = { uris = { vim.uri_from_bufnr(buf) }, timeoutMs = 60000 },
    })
    local at = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } }
    local function take(uri)
      H.wait('the question about ' .. uri, function()
        return vim.iter(server.asked):any(function(q)
          return q.uri == uri
        end)
      end)
      for _, q in ipairs(server.asked) do
        if q.uri == uri and q.answer then
          q.answer(nil, { kind = 'full', items = { { range = at, message = 'pulled' } } })
          q.answer = nil
        end
      end
    end
    take(vim.uri_from_bufnr(buf))
    H.equal(answer(), nil, 'the other document was not waited for')
    take(vim.uri_from_bufnr(other))
    local result = H.wait('the answer', function()
      take(vim.uri_from_bufnr(buf)) -- ignore requests that Neovim itself sends
      return answer()
    end)[1]
    H.equal({
      result.settled,
      result[vim.uri_from_bufnr(buf)][1].message,
      result[vim.uri_from_bufnr(other)][1].message,
    }, { true, 'pulled', 'pulled' })
    server.hold = false
    S.stop()
  end
)

H.case(
  'a query does not wait for a server without versions, nor for a file without a server',
  function()
    local server, buf = with_server({ textDocumentSync = 1 })
    server.publish(buf, 'wrong')
    local uri = vim.uri_from_bufnr(buf)
    require('agent_lsp.fresh').expect(buf) -- simulates the state after an edit
    local settle = { uris = { uri }, timeoutMs = 60000 }
    local result = H.wait('the answer', ask({ operation = 'diagnostics', settle = settle }))[1]
    H.equal({ result.settled, #result[uri] }, { true, 1 })
    S.stop()
    result =
      H.wait('the answer without a server', ask({ operation = 'diagnostics', settle = settle }))[1]
    H.equal(result, { settled = true })
    local problem = H.wait(
      'the answer for the file',
      ask({ operation = 'diagnostics', uri = uri, settle = settle })
    )[2]
    H.equal(problem.code, -32601)
  end
)

H.run()
