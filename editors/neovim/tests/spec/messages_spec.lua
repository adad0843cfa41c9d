--- Tests that no message of the plugin shows the "Press ENTER" prompt in a narrow Neovim. The next
--- key that the user types would be lost to this prompt. Headless tests never show it, so the
--- Neovim under test has a screen of 40 columns and a command line of one line.
local H = require('harness')

local channel ---@type integer?

local function stop()
  if channel then
    pcall(vim.rpcrequest, channel, 'nvim_command', 'qa!')
    vim.fn.jobwait({ channel }, H.deadline)
    channel = nil
  end
end

--- Fails if the Neovim under test waits for a key.
---@param what string what it did last
local function check(what)
  local now = vim.rpcrequest(channel, 'nvim_get_mode')
  if now.blocking or now.mode:find('^r') then
    vim.rpcrequest(channel, 'nvim_input', '<CR>')
    vim.wait(2000, function()
      return not vim.rpcrequest(channel, 'nvim_get_mode').blocking
    end, 5)
    local said = vim.rpcrequest(channel, 'nvim_exec2', 'messages', { output = true }).output
    error(
      ('%s: Neovim waits for a key, mode %s; its messages:\n%s'):format(what, now.mode, said),
      2
    )
  end
end

local function lua(code, ...)
  check('before ' .. code)
  return vim.rpcrequest(channel, 'nvim_exec_lua', code, { ... })
end

--- Starts the Neovim under test with 40 columns. Lists and questions of the plugin are recorded and
--- closed, because the user asks for them.
local function start(files, script, settings)
  stop()
  H.dir = H.workspace(files)
  H.script(script)
  local env = { AGENT_LSP_SCRIPT = vim.env.AGENT_LSP_SCRIPT, XDG_STATE_HOME = H.dir .. '-state' }
  channel = vim.fn.jobstart(
    { vim.v.progpath, '--embed', '--clean', '-n', '-i', 'NONE' },
    { rpc = true, env = env, cwd = H.dir }
  )
  vim.rpcrequest(channel, 'nvim_ui_attach', 40, 24, { rgb = true })
  lua(
    [[
      local plugin, bin, settings = ...
      vim.opt.runtimepath:prepend(plugin)
      vim.cmd.runtime('plugin/agent_lsp.lua')
      local api = require('agent_lsp')
      api.setup({ cmd = { bin }, settings = next(settings) and settings or nil })
      Seen, Echoed, Picked = {}, 0, 0
      api.on('*', function(p, name) Seen[name] = (Seen[name] or 0) + 1 end)
      local function closed(...)
        Picked = Picked + 1
        local done = select(select('#', ...), ...)
        vim.schedule(function() done(nil) end)
      end
      vim.ui.select, vim.ui.input = closed, closed
      local echo = vim.api.nvim_echo
      vim.api.nvim_echo = function(...)
        Echoed = Echoed + 1
        return echo(...)
      end
    ]],
    H.plugin,
    H.bin,
    settings or vim.empty_dict()
  )
end

local function wait_seen(name, n)
  H.wait(('%s, %d'):format(name, n), function()
    return lua([[return Seen[...] or 0]], name) >= n
  end)
end

--- Waits until the Neovim under test has done everything that is scheduled, and checks it.
local function rest(what)
  for _ = 1, 3 do
    check(what)
    lua([[
      local done = false
      vim.defer_fn(function() done = true end, 5)
      vim.wait(1000, function() return done end, 1)
      vim.cmd.redraw()
    ]])
  end
  check(what)
end

--- Shows one message with the given text, level and short form.
local function tell(text, level, short)
  lua([[require('agent_lsp.log').tell(...)]], text, level, short)
  rest(('the message %q'):format(text))
end

H.case('a message of any length is shown without a hit-enter prompt', function()
  start({ ['a.txt'] = 'one\n' }, {})
  for n = 1, 60 do
    tell(('x'):rep(n), vim.log.levels.INFO)
  end
  local levels = vim.log.levels
  for _, level in ipairs({ levels.INFO, levels.WARN, levels.ERROR }) do
    for _, text in ipairs({
      ('word '):rep(100),
      'one\ntwo',
      '\nafter an empty line',
      ('日本'):rep(30),
      ('e\u{301}'):rep(60),
      ('a\tb'):rep(10),
      ('\27\1'):rep(25),
      ('👩‍👩‍👧'):rep(15),
      'ends with a carriage return\r\nand more',
    }) do
      tell(text, level)
      tell(text, level, ('short '):rep(20))
    end
  end
end)

H.case('several messages, also with other output, show no hit-enter prompt', function()
  start({ ['a.txt'] = 'one\n' }, {})
  local long = ('word '):rep(30)
  lua(
    [[
      local tell, long = require('agent_lsp.log').tell, ...
      vim.cmd.edit('a.txt')
      vim.cmd.write()
      for n = 1, 5 do
        tell(n .. ' ' .. long, n % 2 == 0 and vim.log.levels.ERROR or nil)
      end
    ]],
    long
  )
  rest('five messages')
  vim.rpcrequest(channel, 'nvim_input', 'iinserted')
  tell(long, vim.log.levels.WARN)
  vim.rpcrequest(channel, 'nvim_input', '<Esc>:echo "an unfinished command')
  tell(long, vim.log.levels.ERROR)
  vim.rpcrequest(channel, 'nvim_input', '<Esc>:echo "a command"<CR>')
  tell(long, vim.log.levels.WARN)
  lua([[vim.o.showcmd, vim.o.ruler, vim.o.laststatus = false, false, 0]])
  tell(long)
end)

--- Returns every way to call the plugin's commands.
local function calls()
  return lua([[
    local out = {}
    for name, c in pairs(vim.api.nvim_get_commands({})) do
      if name:find('^Agent') and name ~= 'AgentDemo' then
        local unknown = (' '):rep(1) .. ('unknown'):rep(12)
        table.insert(out, name)
        if c.bang then table.insert(out, name .. '!') end
        if c.nargs ~= '0' then table.insert(out, name .. unknown) end
        if c.nargs ~= '0' and c.bang then table.insert(out, name .. '!' .. unknown) end
      end
    end
    table.sort(out)
    return out
  ]])
end

--- Runs every command and mapping of the plugin. The windows that a command opened are closed.
local function walk(state)
  local before = lua([[return Echoed]])
  for _, call in ipairs(calls()) do
    lua([[vim.cmd(...)]], call)
    rest((':%s, %s'):format(call, state))
    lua([[
      vim.cmd.stopinsert()
      vim.cmd('silent! tabonly! | silent! only!')
    ]])
    rest((':%s, %s, its windows closed'):format(call, state))
  end
  local maps = { 'accept', 'reject', 'next', 'previous', 'edit', 'comment', 'abort', 'answer' }
  for _, name in ipairs(maps) do
    lua([[vim.cmd.execute('"normal \\<Plug>(agent-lsp-' .. ... .. ')"')]], name)
    rest(('<Plug>(agent-lsp-%s), %s'):format(name, state))
  end
  H.equal(lua([[return Echoed]]) > before, true, 'messages were shown, ' .. state)
end

local folder = ('a folder with a long name/'):rep(3)

H.case('the commands show no hit-enter prompt without a session', function()
  start({ [folder .. 'a.txt'] = 'one\n' }, {})
  lua([[vim.cmd.edit(vim.fn.fnameescape(...))]], folder .. 'a.txt')
  walk('without a session')
end)

H.case('the commands show no hit-enter prompt after edits, errors and a crash', function()
  local name = folder .. 'a.txt'
  local function edit(old, new)
    return H.call('edit', { path = name, old_string = old, new_string = new })
  end
  local failure = { error = { status = 400, message = ('it failed, '):rep(40) } }
  start({ [name] = 'one\ntwo\n' }, {
    edit('one', 'ONE'),
    { text = 'Done.' },
    edit('two', 'TWO'),
    failure,
    failure,
    failure,
    failure,
    failure,
    failure,
  }, { editPolicy = 'auto' })
  lua([[vim.cmd.edit(vim.fn.fnameescape(...))]], name)
  for n, prompt in ipairs({ 'first', 'second, which fails' }) do
    lua([[vim.cmd('AgentPrompt ' .. ...)]], prompt)
    wait_seen('turn/completed', n)
    rest(prompt)
  end
  lua([[vim.cmd.AgentUndo()]])
  rest('an undo')
  lua([[vim.cmd.AgentToggle()]])
  rest('without the panel')
  lua(
    [[require('agent_lsp.client').request('agent/status', {}, function(_, res) vim.uv.kill(res.pid, 'sigkill') end)]]
  )
  wait_seen('exit', 1)
  wait_seen('ready', 2)
  rest('a crash')
  walk('after a crash')
end)

H.case('reviews and questions show no hit-enter prompt', function()
  local names, edits = {}, {}
  for n = 1, 4 do
    names[n] = ('%s%d.txt'):format(folder, n)
    local one = H.call('edit', { path = names[n], old_string = 'one', new_string = 'ONE' })
    vim.list_extend(edits, one.toolCalls)
  end
  local command = H.call('bash', { command = 'echo ' .. ('word '):rep(50) .. '; rm -rf none' })
  local files = {}
  for _, name in ipairs(names) do
    files[name] = 'one\ntwo\n'
  end
  local script = { { toolCalls = edits }, { text = 'Done.' }, command, { text = 'Done.' } }
  start(files, script, { editPolicy = 'review' })
  lua([[vim.cmd.edit(vim.fn.fnameescape(...))]], names[1])
  lua([[vim.cmd('AgentPrompt go')]])
  wait_seen('turn/completed', 1)
  local comment = ('a long comment '):rep(8)
  for _, call in ipairs({
    'AgentReview',
    'AgentReview quickfix',
    'AgentReview diff',
    'AgentDiff',
    'AgentEdit',
    'stopinsert | silent! tabonly! | silent! only!',
    'AgentReject ' .. comment,
    'buffer 1 | AgentAccept',
    'AgentReject! ' .. comment,
    'AgentPrompt ' .. comment,
  }) do
    lua([[vim.cmd(...)]], call)
    rest(call)
  end
  H.wait('the question', function()
    return lua([[return #require("agent_lsp.permission").list() > 0]])
  end)
  rest('a question')
  for _, call in ipairs({ 'AgentToggle', 'AgentAnswer', 'AgentSteer ' .. comment, 'AgentAbort' }) do
    lua([[vim.cmd(...)]], call)
    rest(call)
  end
end)

H.case('an undo shows no hit-enter prompt for files that changed on disk', function()
  local made, other = folder .. 'made.txt', folder .. 'other.txt'
  local script = {
    H.call('write', { path = made, content = 'made\n' }),
    { text = 'Done.' },
  }
  start({ [other] = 'one\n' }, script, { editPolicy = 'auto' })
  lua([[vim.cmd.edit(vim.fn.fnameescape(...))]], other)
  lua([[vim.cmd('AgentPrompt go')]])
  wait_seen('turn/completed', 1)
  lua([[vim.cmd.split(vim.fn.fnameescape(...))]], made)
  lua(
    [[
      local other = ...
      vim.api.nvim_buf_set_lines(vim.fn.bufnr(other), 0, -1, false, { 'unsaved' })
      vim.fn.writefile({ 'by another program' }, other)
    ]],
    other
  )
  rest('the changes')
  for n = 1, 2 do
    local before = lua([[return Echoed]])
    lua([[vim.cmd.AgentUndo()]])
    H.wait('the message', function()
      check('the undo')
      return lua([[return Echoed]]) > before
    end)
    rest(('undo %d'):format(n))
  end
  H.equal(lua([[return vim.fn.getbufline(vim.fn.bufnr(...), 1)]], other)[1], 'unsaved')
end)

H.case('a program that is missing or does not start shows no hit-enter prompt', function()
  local garbage = { 'sh', '-c', 'yes garbage | head -c 300; sleep 1' }
  for _, cmd in ipairs({ { '/missing/' .. folder .. 'agent-lsp' }, { 'false' }, { 'cat' }, garbage }) do
    start({ ['a.txt'] = 'one\n' }, {})
    lua([[require('agent_lsp').setup({ cmd = ... })]], cmd)
    lua([[vim.cmd('AgentPrompt go')]])
    vim.wait(1500)
    rest(cmd[1])
  end
  stop()
end)

H.run()
