--- Tests the services that the editor offers to the daemon. The editor's language servers,
--- including a real gopls, answer queries. Documents are saved and reloaded. Nothing is opened or
--- changed without the user's knowledge.
local H = require('harness')
local S = require('servers')

local auto = { editPolicy = 'auto', permissions = { profile = 'trust' }, sandbox = 'off' }

--- Returns the results of the tool calls so far, in order. It omits the reads that the scripted
--- model adds.
local function results()
  return vim.tbl_map(
    function(p)
      return p.item.result
    end,
    H.all('item/completed', function(p)
      return p.item.type == 'toolCall' and p.item.name ~= 'read'
    end)
  )
end

--- Counts the daemon's later queries to the editor, by operation. It also collects the answers to
--- diagnostics queries that cover all files and wait for the servers.
local function queries()
  local handlers, asked, waited = require('agent_lsp.editor').handlers, {}, {}
  local real = handlers['agent/editor/query']
  handlers['agent/editor/query'] = function(err, params, ctx)
    asked[params.operation] = (asked[params.operation] or 0) + 1
    local result, problem = real(err, params, ctx)
    if not params.uri and params.settle and #params.settle.uris > 0 then
      table.insert(waited, result)
    end
    return result, problem
  end
  return asked, waited
end

local sample = {
  ['go.mod'] = 'module example.com/sample\n\ngo 1.24\n',
  ['calc/calc.go'] = table.concat({
    'package calc',
    '',
    '// Add adds.',
    'func Add(a, b int) int { return a + b }',
    '',
    'type Shape interface{ Area() int }',
    '',
    'type Square struct{ side int }',
    '',
    'func (s Square) Area() int { return s.side * s.side }',
    '',
  }, '\n'),
  ['main.go'] = 'package main\n\nimport "example.com/sample/calc"\n\nfunc main() { println(twice(2)) }\n\nfunc twice(n int) int { return calc.Add(n, n) }\n',
}

H.case(
  "the editor's own gopls answers every query, also about unsaved text, and reports what an edit broke",
  function()
    local function lsp(operation, arguments)
      return H.call('lsp', vim.tbl_extend('force', { operation = operation }, arguments or {}))
    end
    -- The long wait makes the cases independent of the machine's speed.
    local patient = vim.tbl_extend('force', auto, { diagnostics = { waitMs = 60000 } })
    local gopls = assert(vim.env.GOPLS, 'GOPLS must name gopls: run scripts/setup.sh')
    H.start({
      files = sample,
      settings = patient,
      script = {
        lsp('diagnostics', { path = 'main.go' }),
        lsp('definition', { path = 'main.go', line = 7, symbol = 'Add' }),
        lsp('references', { path = 'calc/calc.go', symbol = 'Add' }),
        lsp('implementation', { path = 'calc/calc.go', symbol = 'Shape' }),
        lsp('hover', { path = 'calc/calc.go', symbol = 'Add' }),
        lsp('documentSymbol', { path = 'main.go' }),
        lsp('workspaceSymbol', { query = 'twice' }),
        lsp('incomingCalls', { path = 'calc/calc.go', symbol = 'Add' }),
        lsp('outgoingCalls', { path = 'main.go', symbol = 'thrice' }),
        lsp('workspaceDiagnostics'),
        H.call('edit', { path = 'main.go', old_string = 'missing()', new_string = 'println()' }),
        lsp('diagnostics', { path = 'main.go' }),
        H.call('edit', {
          path = 'calc/calc.go',
          old_string = '(a, b int) int { return a + b }',
          new_string = '(a, b, c int) int { return a + b + c }',
        }),
        { text = 'Done.' },
      },
    })
    S.serve('go', {
      name = 'gopls',
      cmd = { gopls },
      cmd_env = {
        GOFLAGS = '-mod=mod',
        GOWORK = 'off',
        GOPROXY = 'off',
        GOTOOLCHAIN = 'local',
        GOTELEMETRY = 'off',
      },
    })
    local asked, waited = queries()
    local buf = H.edit('main.go')
    vim.api.nvim_buf_set_lines(buf, -1, -1, false, {
      '',
      'func thrice(n int) int {',
      '\tmissing()',
      '\treturn calc.Add(twice(n), n)',
      '}',
      '',
      'func init() { thrice(1) }',
    })
    H.wait('gopls', function()
      return #vim.diagnostic.get(buf) > 0
    end)
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    local got = results()
    for i, want in ipairs({
      { 'main.go: 1 error, by the editor', 'main.go:10:2: error: undefined: missing' },
      { 'calc/calc.go:4:6: func Add%(a, b int%) int' },
      { 'calc/calc.go:4:6', 'main.go:7:37', 'main.go:11:14' },
      { 'calc/calc.go:8:6: type Square struct' },
      { 'func Add%(a int, b int%) int', 'Add adds' },
      { 'function main', 'function twice', 'function thrice' },
      { 'twice', 'main.go:7:6' },
      { 'function twice', 'function thrice' },
      { 'function Add', 'function twice' },
      { 'undefined: missing', 'by the editor' },
      { 'applied 1/1' },
      { 'main.go: clean: the editor' },
      {
        'applied 1/1',
        'new diagnostics after this edit, by the editor',
        'main.go:7:.*not enough arguments',
        'main.go:11:',
      },
    }) do
      for _, pattern in ipairs(want) do
        H.matches(got[i], pattern, 'result ' .. i)
      end
    end
    for _, operation in ipairs({
      'diagnostics',
      'definition',
      'references',
      'implementation',
      'hover',
      'documentSymbol',
      'workspaceSymbol',
      'incomingCalls',
      'outgoingCalls',
    }) do
      H.equal((asked[operation] or 0) > 0, true, operation)
    end
    H.equal(
      { #waited, waited[1].settled, waited[2].settled },
      { 2, true, true },
      'an edit is one question'
    )
    H.matches(H.read(H.dir .. '/calc/calc.go'), 'a, b, c int', 'the closed file')
    H.equal(H.read(H.dir .. '/main.go'), sample['main.go'], 'the open file on disk')
    local edits = H.all('item/completed', function(p)
      return p.item.name == 'edit'
    end)
    io.stdout:write(
      ('     the edit that broke a caller took %d ms\n'):format(edits[#edits].item.durationMs)
    )
    S.stop()
  end
)

--- Creates a server in Neovim that returns the symbols of each document that it has open.
local function symbol_server(seen)
  return function(dispatchers)
    local closing = false
    return {
      request = function(method, params, callback)
        local result
        if method == 'initialize' then
          result = { capabilities = { documentSymbolProvider = true, textDocumentSync = 1 } }
        elseif method == 'textDocument/documentSymbol' then
          local at = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 3 } }
          result = {
            {
              name = vim.trim(seen[params.textDocument.uri] or 'unknown'),
              kind = 12,
              range = at,
              selectionRange = at,
            },
          }
        end
        vim.schedule(function()
          callback(nil, result)
        end)
        return true, 1
      end,
      notify = function(method, params)
        if method == 'textDocument/didOpen' then
          seen[params.textDocument.uri] = params.textDocument.text
        elseif method == 'textDocument/didChange' then
          seen[params.textDocument.uri] = params.contentChanges[1].text
        elseif method == 'textDocument/didClose' then
          seen[params.textDocument.uri] = nil
        elseif method == 'exit' then
          closing = true
          dispatchers.on_exit(0, 0)
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        closing = true
        dispatchers.on_exit(0, 0)
      end,
    }
  end
end

H.case(
  'a file loaded only for server queries stays closed: edits go to disk until the user opens it',
  function()
    H.start({
      files = { ['a.txt'] = 'one\n', ['b.txt'] = 'bee\n' },
      settings = auto,
      script = {
        H.call('lsp', { operation = 'documentSymbol', path = 'a.txt' }),
        H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'two' }),
        H.call('lsp', { operation = 'documentSymbol', path = 'a.txt' }),
        H.call('edit', { path = 'a.txt', old_string = 'two', new_string = 'three' }),
        { text = 'Done.' },
        H.call('edit', { path = 'a.txt', old_string = 'three', new_string = 'four' }),
        { text = 'Done.' },
      },
    })
    local seen = {}
    S.serve('text', { name = 'symbols', cmd = symbol_server(seen) })
    H.edit('b.txt')
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    H.matches(results()[1], 'one')
    H.matches(results()[3], 'two', 'the server saw old text')
    H.equal(H.read(H.dir .. '/a.txt'), 'three\n')
    local buf = vim.fn.bufnr(H.dir .. '/a.txt')
    H.equal({ vim.bo[buf].buflisted, vim.bo[buf].modified }, { false, false })
    H.equal(vim.lsp.buf_is_attached(buf, require('agent_lsp.client').running().id), false)
    H.edit('a.txt')
    H.equal(H.lines(), { 'three' }, 'old text is shown')
    H.equal(vim.lsp.buf_is_attached(buf, require('agent_lsp.client').running().id), true)
    vim.cmd('AgentPrompt again')
    H.equal(H.turn(2).status, 'completed')
    H.equal(H.lines(), { 'four' })
    H.equal(H.read(H.dir .. '/a.txt'), 'three\n', 'an open document is not saved')
    S.stop()
  end
)

H.case('a file loaded for server queries becomes a document when a plugin changes it', function()
  H.start({
    files = { ['a.txt'] = 'one\n', ['b.txt'] = 'bee\n' },
    settings = auto,
    script = {
      H.call('lsp', { operation = 'documentSymbol', path = 'a.txt' }),
      { text = 'Done.' },
      H.call('grep', { pattern = 're' }),
      { text = 'Done.' },
    },
  })
  S.serve('text', { name = 'symbols', cmd = symbol_server({}) })
  H.edit('b.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  local buf = vim.fn.bufnr(H.dir .. '/a.txt')
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'renamed' })
  H.wait('the document', function()
    return vim.lsp.buf_is_attached(buf, require('agent_lsp.client').running().id)
  end)
  vim.cmd('AgentPrompt again')
  H.equal(H.turn(2).status, 'completed')
  H.matches(results()[2], 'renamed')
  S.stop()
end)

H.case(
  'without a language server a file is not loaded, and edits under auto policy go to disk',
  function()
    H.start({
      files = { ['a.txt'] = 'one\n' },
      settings = auto,
      script = {
        H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'two' }),
        H.call('edit', { path = 'a.txt', old_string = 'two', new_string = 'three' }),
        { text = 'Done.' },
      },
    })
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    H.equal(H.read(H.dir .. '/a.txt'), 'three\n')
    H.equal(vim.fn.bufloaded(H.dir .. '/a.txt'), 0)
  end
)

H.case('an edit to a document that was closed in the meantime is refused', function()
  H.start({ files = { ['a.txt'] = 'one\n' }, script = { { text = 'ok' } } })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  vim.cmd('enew')
  vim.cmd('bunload ' .. buf)
  local at = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 3 } }
  local edit = {
    documentChanges = {
      {
        textDocument = { uri = vim.uri_from_bufnr(buf), version = 0 },
        edits = { { range = at, newText = 'X' } },
      },
    },
  }
  local answer = require('agent_lsp.edit').handle(
    nil,
    { edit = edit },
    { client_id = require('agent_lsp.client').running().id }
  )
  H.equal(answer.applied, false)
  H.matches(answer.failureReason, 'no longer open')
  H.equal(vim.api.nvim_buf_is_loaded(buf), false)
end)

--- Makes a file's time stamp differ from the recorded one, even if the clock is coarse.
local function touch(path, text)
  H.write(path, text)
  vim.uv.fs_utime(path, os.time() + 10, os.time() + 10)
end

H.case(
  'a changed buffer is saved before a command runs, and reloaded if the command changes the file',
  function()
    H.start({
      files = { ['a.txt'] = 'one\n' },
      settings = auto,
      script = {
        H.call(
          'bash',
          { command = 'cat a.txt; echo added >> a.txt; touch -d "+10 seconds" a.txt' }
        ),
        { text = 'Done.' },
      },
    })
    local buf = H.edit('a.txt')
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'unsaved' })
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    H.matches(results()[1], 'unsaved')
    H.wait('the new text', function()
      return H.lines(buf)[2] == 'added'
    end)
    H.equal(vim.bo[buf].modified, false)
  end
)

H.case(
  'a buffer that also changed on disk is neither saved nor asked about, and the turn continues',
  function()
    H.start({
      files = { ['a.txt'] = 'one\n' },
      settings = auto,
      script = { H.call('bash', { command = 'cat a.txt' }), { text = 'Done.' } },
    })
    local buf = H.edit('a.txt')
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'mine' })
    touch(H.dir .. '/a.txt', 'theirs\n')
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    H.matches(results()[1], 'theirs')
    H.equal({ H.lines(buf), H.read(H.dir .. '/a.txt') }, { { 'mine' }, 'theirs\n' })
    H.wait('the word', function()
      return vim.iter(H.notices):any(function(n)
        return n.text:find('changed in the buffer and on disk')
      end)
    end)
    H.equal(require('agent_lsp.disk').write(buf), false, 'the second time')
    vim.cmd('silent write!')
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'mine again' })
    H.equal(require('agent_lsp.disk').write(buf), true)
    H.equal(H.read(H.dir .. '/a.txt'), 'mine again\n')
  end
)

H.case('a failed write is reported to the daemon, even if confirm is set', function()
  H.start({ files = { ['a.txt'] = 'one\n' }, script = { { text = 'ok' } } })
  local buf = H.edit('a.txt')
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'two' })
  vim.bo[buf].readonly = true
  vim.o.confirm = true
  H.equal(require('agent_lsp.disk').write(buf), false)
  H.equal({ vim.o.confirm, H.read(H.dir .. '/a.txt') }, { true, 'one\n' })
  vim.o.confirm = false
  vim.v.errmsg = ''
end)

H.run()
