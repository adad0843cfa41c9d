--- Tests sessions, the editor's answers, events, and the start and end of the daemon.
local H = require('harness')

local function edit_a(old, new)
  return H.call('edit', { path = 'a.txt', old_string = old, new_string = new })
end

H.case('sessions are listed, resumed, renamed, forked, exported and deleted', function()
  H.start({ script = { { text = 'About apples.' }, { text = 'About pears.' } } })
  vim.cmd('AgentPrompt tell me of apples')
  H.equal(H.turn().status, 'completed')
  vim.cmd('AgentNew')
  -- The case does not wait here, because the message is sent to the new session.
  vim.cmd('AgentPrompt tell me of pears')
  H.equal(H.turn(2).status, 'completed')
  H.choose('apples')
  vim.cmd('AgentSessions')
  H.wait('the first session', function()
    return H.panel_text():find('About apples.', 1, true)
  end)
  H.equal(H.panel_text():find('pears'), nil)
  local panel = require('agent_lsp.panel')
  H.wait('the title', function()
    return panel.state.title:find('apples')
  end)
  local bar = vim.wo[require('agent_lsp.transcript').window()].winbar
  H.matches(bar, 'ready%%%* · tell me of apples')
  H.choose('apples', 'On fruit')
  vim.cmd('AgentSessions rename')
  H.event('session/updated', function(p)
    return p.title == 'On fruit'
  end)
  H.choose('On fruit')
  vim.cmd('AgentSessions export')
  H.wait('the export', function()
    return vim.bo.filetype == 'markdown' and table.concat(H.lines(), '\n'):find('About apples')
  end)
  H.equal(vim.bo.modified, false, 'a view asks nothing when it is closed')
  vim.cmd('tabclose')
  H.choose('pears')
  vim.cmd('AgentSessions fork')
  H.wait('the fork', function()
    return H.panel_text():find('About pears.', 1, true)
  end)
  H.equal(#H.request('agent/session/list', {}).sessions, 3)
  H.choose('On fruit')
  vim.cmd('AgentSessions delete')
  H.wait('the end of the session', function()
    return #H.request('agent/session/list', {}).sessions == 2
  end)
end)

H.case('a message is pinned and unpinned by a key', function()
  H.start({ script = { { text = 'Understood.' } } })
  vim.cmd('AgentPrompt never touch generated files')
  H.equal(H.turn().status, 'completed')
  local panel = require('agent_lsp.panel')
  panel.open()
  H.wait('the answer', function()
    return H.panel_text():find('Understood.', 1, true)
  end)
  local transcript = require('agent_lsp.transcript')
  vim.api.nvim_set_current_win(transcript.window())
  vim.fn.search('never touch')
  vim.api.nvim_feedkeys('p', 'xt', false)
  H.wait('the pin', function()
    return H.panel_text():find('generated files  (pinned)', 1, true)
  end)
  panel.close()
  panel.open()
  vim.api.nvim_set_current_win(transcript.window())
  vim.fn.search('never touch')
  vim.api.nvim_feedkeys('p', 'xt', false)
  H.wait('no pin', function()
    return not H.panel_text():find('(pinned)', 1, true)
  end)
  vim.fn.search('Understood')
  vim.api.nvim_feedkeys('p', 'xt', false)
  H.wait('the word', function()
    return #H.notices > 0
  end)
end)

H.case('a session resumed in a new Neovim has its pending hunks', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    settings = { editPolicy = 'collect' },
    script = { edit_a('one', 'ONE'), { text = 'Collected.' } },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.hunks(1)
  H.again({})
  H.edit('a.txt')
  H.choose(1)
  vim.cmd('AgentSessions')
  H.hunks(1)
  H.wait('the transcript', function()
    return H.panel_text():find('Collected.', 1, true)
  end)
  vim.cmd('AgentAccept!')
  H.hunks(0)
  H.equal(H.lines(vim.fn.bufnr('a.txt')), { 'ONE' })
end)

H.case('after Neovim quits during a turn, a new Neovim continues with the pending hunks', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = { edit_a('one', 'ONE'), { text = 'Never said.' } },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  H.again({ script = { { expect = { lastUser = 'applied 1/1' }, text = 'Going on.' } } })
  H.edit('a.txt')
  H.choose(1)
  vim.cmd('AgentSessions')
  H.hunks(1)
  vim.cmd('AgentAccept')
  H.hunks(0)
  H.equal(H.lines(), { 'ONE' })
  vim.cmd('AgentPrompt well?')
  H.equal(H.turn().status, 'completed')
  H.wait('the answer', function()
    return H.panel_text():find('Going on.', 1, true)
  end)
end)

H.case('an untrusted workspace cannot loosen settings', function()
  H.start({
    files = { ['.agent-lsp.json'] = '{"permissions": {"profile": "trust"}, "sandbox": "off"}' },
    script = { H.call('bash', { command = 'touch made' }), { text = 'Then not.' } },
  })
  vim.cmd('AgentPrompt go')
  local permission = require('agent_lsp.permission')
  H.wait('a question', function()
    return #permission.list() > 0
  end)
  while #H.all('turn/completed') == 0 do
    for _, entry in ipairs(permission.list()) do
      entry.answer({ cancelled = true })
    end
    H.wait('more', function()
      return #permission.list() > 0 or #H.all('turn/completed') > 0
    end)
  end
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
end)

H.case('the model can be changed and the context compacted', function()
  H.start({ script = { { text = 'Hello.' } } })
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  vim.cmd('AgentModel other-model')
  H.wait('the word', function()
    return #H.notices > 0
  end)
  H.matches(H.notices[1].text, 'other%-model')
  vim.cmd('AgentCompact')
  H.wait('an answer', function()
    return #H.notices > 1
  end)
  local compaction = require('agent_lsp.render').compaction
  H.equal(
    compaction({ tokensBefore = 900, tokensAfter = 100 }),
    'context reduced from 900 to 100 tokens'
  )
  H.equal(compaction({ tokensBefore = 100, tokensAfter = 900 }):find('reduced'), nil)
  H.equal(
    compaction({ tokensBefore = 100, tokensAfter = 100 }),
    'the context was not reduced: 100 tokens'
  )
end)

H.case(':AgentFix sends the diagnostic at the cursor', function()
  H.start({
    files = { ['a.txt'] = 'one\ntwo\n' },
    script = { { expect = { lastUser = 'undefined: two' }, text = 'I see.' } },
  })
  local buf = H.edit('a.txt')
  local ns = vim.api.nvim_create_namespace('test')
  vim.diagnostic.set(
    ns,
    buf,
    { { lnum = 1, col = 0, message = 'undefined: two', severity = vim.diagnostic.severity.ERROR } }
  )
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.cmd('AgentFix')
  H.equal(H.turn().status, 'completed')
end)

--- Starts a language server inside Neovim that knows one definition. Its positions are in UTF-16.
local function language_server()
  local function start(dispatchers)
    local closing = false
    return {
      request = function(method, params, callback)
        local result
        if method == 'initialize' then
          result = {
            capabilities = {
              definitionProvider = true,
              workspaceSymbolProvider = true,
              positionEncoding = 'utf-16',
            },
          }
        elseif method == 'textDocument/definition' then
          local at = { line = 0, character = params.position.character }
          result = {
            { uri = params.textDocument.uri, range = { start = at, ['end'] = vim.deepcopy(at) } },
          }
        elseif method == 'workspace/symbol' then
          result = {
            {
              name = 'Thing',
              kind = 5,
              location = {
                uri = vim.uri_from_fname(H.dir .. '/a.txt'),
                range = {
                  start = { line = 1, character = 0 },
                  ['end'] = { line = 1, character = 1 },
                },
              },
            },
          }
        end
        vim.schedule(function()
          callback(nil, result)
        end)
        return true, 1
      end,
      notify = function(method)
        if method == 'exit' then
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
      end,
    }
  end
  return vim.lsp.start({ name = 'fake', cmd = start, root_dir = H.dir })
end

H.case(
  "the editor's own language servers answer queries in the daemon's position encoding",
  function()
    H.start({ files = { ['a.txt'] = '𝄞𝄞 word\nword\n' }, script = { { text = 'ok' } } })
    local buf = H.edit('a.txt')
    language_server()
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    local handlers = require('agent_lsp.editor').handlers
    local ctx = { client_id = require('agent_lsp.client').running().id }
    local uri = vim.uri_from_bufnr(buf)
    local got
    coroutine.wrap(function()
      got = handlers['agent/editor/query'](
        nil,
        { operation = 'definition', uri = uri, position = { line = 0, character = 9 } },
        ctx
      )
    end)()
    H.wait('the definition', function()
      return got
    end)
    H.equal(got[1].range.start, { line = 0, character = 9 }) -- 5 in the server's own encoding
    vim.diagnostic.set(
      vim.api.nvim_create_namespace('test'),
      buf,
      { { lnum = 0, col = 8, message = 'odd' } }
    )
    local list = handlers['agent/editor/query'](nil, { operation = 'diagnostics', uri = uri }, ctx)
    H.equal({ list[1].message, list[1].range.start.character }, { 'odd', 8 })
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'changed' })
    H.equal(
      handlers['agent/editor/save'](nil, { uris = { uri } }, ctx),
      { saved = { uri }, failed = {} }
    )
    H.matches(H.read(H.dir .. '/a.txt'), '^changed\n')
    local win = vim.api.nvim_get_current_win()
    H.equal(
      handlers['agent/editor/reveal'](
        nil,
        { uri = uri, range = { start = { line = 1, character = 0 } } },
        ctx
      ),
      { shown = true }
    )
    H.equal(vim.api.nvim_get_current_win(), win)
  end
)

H.case(
  'an @ completes files, buffers, diagnostics and symbols, and sends what it refers to',
  function()
    H.start({
      files = { ['a.txt'] = 'one\ntwo\n', ['dir/deep.txt'] = 'deep\n' },
      script = { { expect = { lastUser = 'deep' }, text = 'ok' } },
    })
    H.edit('a.txt')
    language_server()
    local mention = require('agent_lsp.mention')
    local function words(query)
      local got
      mention.complete(query, function(list)
        got = list
      end)
      H.wait('completions of ' .. query, function()
        return got
      end)
      return vim.tbl_map(function(w)
        return w.word
      end, got)
    end
    H.equal(words('dee'), { '@dir/deep.txt' })
    H.equal(words('diag'), { '@diagnostics' })
    H.equal(words('#Thi'), { '@a.txt:2' })
    H.equal(vim.tbl_contains(words('a.t'), '@a.txt'), true)
    local blocks =
      mention.blocks('look at @dir/deep.txt and @a.txt:2, also @diagnostics but not me@example.org')
    H.equal(
      { #blocks, blocks[2].type, blocks[3].range.start.line, blocks[4].type },
      { 4, 'resource', 1, 'text' }
    )
    require('agent_lsp').prompt(blocks)
    H.equal(H.turn().status, 'completed')
    H.equal(mention.blocks('plain'), 'plain')
  end
)

H.case('events reach listeners and autocommands', function()
  H.start({ script = { { text = 'ok', chunks = 3 } } })
  local seen = {}
  for _, pattern in ipairs({
    'AgentLspTurnStarted',
    'AgentLspTurnCompleted',
    'AgentLspItemCompleted',
    'AgentLspReady',
    'AgentLspSessionUpdated',
  }) do
    vim.api.nvim_create_autocmd('User', {
      pattern = pattern,
      once = true,
      callback = function(args)
        seen[args.match] = args.data.sessionId or true
      end,
    })
  end
  local deltas = 0
  local off = require('agent_lsp').on('delta', function()
    deltas = deltas + 1
  end)
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.wait('the autocommands', function()
    return vim.tbl_count(seen) == 5
  end)
  H.equal(deltas > 0, true)
  off()
end)

H.case(':checkhealth reports the binary, version, provider and sandbox', function()
  H.start({ script = { { text = 'ok' } } })
  vim.cmd('checkhealth agent_lsp')
  local text = table.concat(H.lines(), '\n')
  for _, want in ipairs({ 'binary: ', 'version: ', 'sandbox: ', 'workspace root: ', 'ready: ' }) do
    H.matches(text, want)
  end
  H.equal(text:find('ERROR'), nil)
end)

H.case(':checkhealth warns if no provider is configured, and says what to do', function()
  H.start({})
  vim.env.AGENT_LSP_SCRIPT = nil
  vim.cmd('checkhealth agent_lsp')
  local text = table.concat(H.lines(), '\n')
  H.matches(text, 'WARNING provider: none')
  H.matches(text, 'ADVICE:\n%s+%- choose a provider and a model with `:AgentSetup`\n')
  H.matches(text, '`:AgentDemo`\n%s+%- set OPENAI_API_KEY')
end)

H.case("times are shown in the user's time zone", function()
  local time = require('agent_lsp.render').time
  local zone = vim.env.TZ
  vim.env.TZ = 'XXX-9:30' -- this zone is nine and a half hours east of UTC
  local got = { time('2026-03-01T20:45:10.5Z'), time('2026-03-01T20:45:10+02:00'), time('soon') }
  vim.env.TZ = zone
  H.equal(got, { '2026-03-02 06:15', '2026-03-02 04:15', 'soon' })
end)

H.case('lists say today and yesterday, and older dates in full', function()
  local day = require('agent_lsp.render').day
  local now = os.date('*t')
  local function ago(days, hour)
    local at = { year = now.year, month = now.month, day = now.day - days, hour = hour, min = 30 }
    return os.date('!%Y-%m-%dT%H:%M:%SZ', os.time(at))
  end
  H.equal({ day(ago(0, 0)), day(ago(1, 23)) }, { 'today 00:30     ', 'yesterday 23:30 ' })
  H.equal(day(ago(2, 12)), os.date('%Y-%m-%d 12:30', os.time() - 2 * 86400))
end)

--- Returns the processes in /proc whose command line contains the text.
local function processes(text)
  local out = {}
  for name in vim.fs.dir('/proc') do
    if name:match('^%d+$') then
      local f = io.open('/proc/' .. name .. '/cmdline', 'rb')
      local line = f and f:read('*a') or ''
      if f then
        f:close()
      end
      if line:find(text, 1, true) then
        table.insert(out, name)
      end
    end
  end
  return out
end

H.case(':qa during a turn leaves no process running', function()
  local number = ('86417.%d'):format(vim.uv.os_getpid()) -- a number that is unique to this run
  H.start({
    settings = { permissions = { profile = 'trust' }, sandbox = 'off' },
    script = { H.call('bash', { command = 'exec sleep ' .. number }) },
  })
  local child = H.dir .. '-child.lua'
  H.write(
    child,
    ([[
vim.opt.runtimepath:prepend(%q)
vim.cmd.runtime('plugin/agent_lsp.lua')
vim.cmd.cd(%q)
require('agent_lsp').setup({ cmd = { %q }, settings = { permissions = { profile = 'trust' }, sandbox = 'off' } })
local running = false
require('agent_lsp').on('item/updated', function(p)
  running = running or p.item.status == 'running'
end)
vim.cmd('AgentPrompt go')
assert(vim.wait(120000, function() return running end, 5))
io.stdout:write(require('agent_lsp.client').running().id, '\n')
vim.cmd('qa!')
]]):format(H.plugin, H.dir, H.bin)
  )
  local done = vim
    .system({ vim.v.progpath, '--headless', '--clean', '-l', child }, { text = true })
    :wait(H.deadline)
  H.equal(done.code, 0, (done.stdout or '') .. (done.stderr or ''))
  H.wait('the processes to end', function()
    return #processes('sleep\0' .. number) == 0
  end)
end)

H.run()
