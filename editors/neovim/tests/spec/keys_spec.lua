--- Tests that press real keys in a Neovim with a screen. They cover menus and messages that wait
--- for a key, which headless tests never show.
local H = require('harness')

local channel ---@type integer?

local function stop()
  if channel then
    pcall(vim.rpcrequest, channel, 'nvim_command', 'qa!')
    vim.fn.jobwait({ channel }, H.deadline)
    channel = nil
  end
end

local function mode()
  return vim.rpcrequest(channel, 'nvim_get_mode')
end

--- Presses Enter in a Neovim that waits for a key, and returns its messages.
local function messages_behind_prompt()
  vim.rpcrequest(channel, 'nvim_input', '<CR>')
  local free = vim.wait(1000, function()
    return not mode().blocking
  end, 5)
  return free and vim.rpcrequest(channel, 'nvim_exec2', 'messages', { output = true }).output or ''
end

--- Runs Lua code in the Neovim under test. It fails if that Neovim is waiting for a key.
local function lua(code, ...)
  local now = mode()
  if now.blocking then
    local text = 'Neovim waits for a key, mode %s; its messages:\n%s'
    error(text:format(now.mode, messages_behind_prompt()), 2)
  end
  return vim.rpcrequest(channel, 'nvim_exec_lua', code, { ... })
end

local function keys(text)
  vim.rpcrequest(channel, 'nvim_input', text)
end

--- Starts the Neovim under test in a workspace with the given files. Its model plays the script.
local function start(files, script, settings)
  stop()
  H.dir = H.workspace(files)
  H.script(script)
  local env = { AGENT_LSP_SCRIPT = vim.env.AGENT_LSP_SCRIPT, XDG_STATE_HOME = H.dir .. '-state' }
  channel = vim.fn.jobstart(
    { vim.v.progpath, '--embed', '--clean', '-n', '-i', 'NONE' },
    { rpc = true, env = env, cwd = H.dir }
  )
  vim.rpcrequest(channel, 'nvim_ui_attach', 80, 24, { rgb = true })
  lua(
    [[
      local plugin, bin, settings = ...
      vim.opt.runtimepath:prepend(plugin)
      vim.cmd.runtime('plugin/agent_lsp.lua')
      local api = require('agent_lsp')
      api.setup({ cmd = { bin }, settings = next(settings) and settings or nil })
      Seen = {}
      api.on('*', function(p, name) Seen[name] = (Seen[name] or 0) + 1 end)
    ]],
    H.plugin,
    H.bin,
    settings or vim.empty_dict()
  )
end

local function input()
  return lua(
    [[return table.concat(vim.api.nvim_buf_get_lines(require('agent_lsp.input').buffer(), 0, -1, false), '\n')]]
  )
end

local function wait_input(text)
  local got
  local ok = vim.wait(H.deadline, function()
    got = input()
    return got == text
  end, 5)
  if not ok then
    H.equal(got, text, 'the input')
  end
end

local function menu(text)
  H.wait('the menu with ' .. text, function()
    return lua([[return vim.fn.pumvisible() == 1]])
      and vim.iter(lua([[return vim.fn.complete_info({ 'items' }).items]])):any(function(item)
        return item.word == text
      end)
  end)
end

local function wait_seen(name, n)
  H.wait(('%s, %d'):format(name, n), function()
    return lua([[return Seen[...] or 0]], name) >= n
  end)
end

--- Reports whether the given line is among the last lines of the transcript, and the transcript
--- ends at the bottom of its window. A fence below the line needs no room from Neovim 0.11 on.
local at_bottom = [[
  local wanted = ...
  vim.cmd.redraw()
  local t = require('agent_lsp.transcript')
  local lines = vim.api.nvim_buf_get_lines(t.buf, 0, -1, false)
  local at = vim.iter({ #lines, #lines - 1, #lines - 2 }):find(function(n)
    return lines[n] == wanted
  end)
  if not at then return false end
  local win = t.window()
  local below = 0
  for _, l in ipairs({ unpack(lines, at + 1) }) do
    local hidden = vim.fn.has('nvim-0.11') == 1 and l:match('^`+$')
    below = hidden and below or below + 1
  end
  local bottom = vim.fn.win_screenpos(win)[1] + vim.api.nvim_win_get_height(win) - 1
  return vim.fn.screenpos(win, at, #lines[at]).row + below == bottom
]]

local function wait_bottom(line)
  H.wait('the end at the bottom', function()
    return lua(at_bottom, line)
  end)
end

--- Waits until the transcript contains a text.
local function wait_text(text)
  H.wait(text, function()
    return lua(
      [[
        local t = package.loaded['agent_lsp.transcript']
        local lines = t and vim.api.nvim_buf_get_lines(t.buffer(), 0, -1, false) or {}
        return table.concat(lines, '\n'):find(..., 1, true) ~= nil
      ]],
      text
    )
  end)
end

local function messages()
  return lua([[return vim.api.nvim_exec2('messages', { output = true }).output]])
end

local files = {
  ['cart.go'] = 'package cart\n',
  ['cart_test.go'] = 'package cart\n',
  ['dir/deep.txt'] = 'deep\n',
}

H.case(
  'the @ menu inserts nothing while the user types; <Tab> and <CR> accept the selected entry',
  function()
    start(files, { { text = 'One.' }, { text = 'Two.' } })
    keys(':edit cart.go<CR>:AgentPrompt<CR>')
    H.wait('the input', function()
      return lua([[return vim.bo.filetype == 'agent_lsp_input' and vim.fn.mode() == 'i']])
    end)
    keys('look at @c')
    menu('@cart_test.go')
    wait_input('look at @c')
    keys('art_')
    wait_input('look at @cart_')
    menu('@cart_test.go')
    keys('<Tab>')
    wait_input('look at @cart_test.go')
    keys(' and @ca')
    menu('@cart_test.go')
    keys('<Down>')
    wait_input('look at @cart_test.go and @cart_test.go')
    keys('<CR>')
    H.wait('the menu to close', function()
      return not lua([[return vim.fn.pumvisible() == 1]])
    end)
    H.equal(input(), 'look at @cart_test.go and @cart_test.go', 'it was sent')
    keys('<CR>')
    wait_seen('turn/completed', 1)
    wait_input('')
    keys('@cart.go')
    menu('@cart.go')
    wait_input('@cart.go')
    keys('<CR>') -- the word is already in the input
    wait_seen('turn/completed', 2)
    keys('<Up><Up>')
    wait_input('look at @cart_test.go and @cart_test.go')
    keys('<Esc>')
    H.wait('the end of insert mode', function()
      return lua([[return vim.fn.mode() == 'n']])
    end)
    H.equal(
      lua([[return vim.go.completeopt:find('noinsert')]]) or vim.NIL,
      vim.NIL,
      "the user's own completeopt"
    )
  end
)

H.case('<CR> accepts the entry that <C-n> selected, and does not send the prompt', function()
  start(files, { { text = 'One.' } })
  keys(':edit cart.go<CR>:AgentPrompt<CR>')
  H.wait('the input', function()
    return lua([[return vim.bo.filetype == 'agent_lsp_input' and vim.fn.mode() == 'i']])
  end)
  keys('look at @ca')
  menu('@cart_test.go')
  keys('<C-n>')
  wait_input('look at @cart_test.go')
  keys('<CR>')
  H.wait('the menu to close', function()
    return not lua([[return vim.fn.pumvisible() == 1]])
  end)
  H.equal(input(), 'look at @cart_test.go', 'it was sent')
end)

H.case('a daemon crash is reported in one line, without a hit-enter prompt', function()
  start(
    files,
    { H.call('bash', { command = 'sleep 1000' }), { text = 'x' } },
    { permissions = { profile = 'trust' }, sandbox = 'off' }
  )
  keys(':edit cart.go<CR>:AgentPrompt go<CR>')
  wait_text('● `Run sleep')
  lua(
    [[require('agent_lsp.client').request('agent/status', {}, function(_, res) vim.uv.kill(res.pid, 'sigkill') end)]]
  )
  wait_seen('exit', 1)
  wait_seen('ready', 2)
  local said = messages()
  H.matches(said, 'agent%-lsp: the daemon stopped %(signal 9%) and is being restarted')
  H.equal(said:find('quit with exit code'), nil, said)
end)

local function row()
  return lua([[return vim.api.nvim_win_get_cursor(0)[1] ]])
end

local function wait_row(n)
  H.wait('line ' .. n, function()
    return row() == n
  end)
end

local function wait_hunks(n)
  H.wait(n .. ' hunks', function()
    return lua([[return package.loaded['agent_lsp.hunks'] and require('agent_lsp.hunks').count()]])
      == n
  end)
end

local function wait_line(n, text)
  H.wait('the line ' .. text, function()
    return lua(
      [[return vim.fn.bufnr('ten.txt') ~= -1 and vim.api.nvim_buf_get_lines(vim.fn.bufnr('ten.txt'), ..., -1, false)[1] ]],
      n - 1
    ) == text
  end)
end

local function wait_panel(open)
  H.wait('the panel', function()
    return lua([[return require('agent_lsp.panel').is_open()]]) == open
  end)
end

H.case('every <Plug> mapping works when the user maps a key to it', function()
  local list = {}
  for _, word in ipairs({ 'two', 'four', 'six', 'eight', 'ten' }) do
    table.insert(list, { old_string = word .. '\n', new_string = word:upper() .. '\n' })
  end
  start({ ['ten.txt'] = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n' }, {
    H.call('edit', { path = 'ten.txt', edits = list }),
    H.call('bash', { command = 'touch made && sleep 1000' }),
  }, { sandbox = 'off' })
  local maps = {
    a = 'accept',
    r = 'reject',
    n = 'next',
    p = 'previous',
    e = 'edit',
    c = 'comment',
    t = 'toggle',
    x = 'abort',
    w = 'answer',
  }
  lua(
    [[for key, name in pairs(...) do vim.keymap.set('n', ',' .. key, ('<Plug>(agent-lsp-%s)'):format(name)) end]],
    maps
  )
  keys(':edit ten.txt<CR>:AgentPrompt go<CR>')
  wait_hunks(5)
  keys('gg,n')
  wait_row(2)
  keys(',n')
  wait_row(4)
  keys(',p')
  wait_row(2)
  keys(',a')
  wait_hunks(4)
  wait_line(2, 'TWO')
  wait_row(4) -- after a decision, the cursor moves to the next hunk
  keys(',r')
  wait_hunks(3)
  wait_line(4, 'four')
  wait_row(6)
  keys(',c')
  H.wait('the question why', function()
    return vim.rpcrequest(channel, 'nvim_get_mode').mode == 'c'
  end)
  keys('not this one<CR>')
  wait_hunks(2)
  wait_row(8)
  keys(',e')
  H.wait('the window with the text', function()
    return lua([[return vim.api.nvim_win_get_config(0).relative ~= '']])
  end)
  keys('ccEDITED<Esc>:w<CR>')
  wait_hunks(1)
  wait_line(8, 'EDITED')
  wait_row(10)
  keys(',a')
  wait_line(10, 'TEN')
  H.wait('the permission', function()
    return lua([[return #require('agent_lsp.permission').list()]]) == 1
  end)
  keys(',t')
  wait_panel(false)
  keys(',t')
  wait_panel(true)
  keys(',w')
  H.wait('the choice', function()
    return vim.rpcrequest(channel, 'nvim_get_mode').mode ~= 'n'
  end)
  keys('1<CR>')
  H.wait('the answer', function()
    return lua([[return #require('agent_lsp.permission').list()]]) == 0
  end)
  H.wait('the command', function()
    return vim.fn.filereadable(H.dir .. '/made') == 1
  end)
  keys(',x')
  wait_seen('turn/completed', 1)
end)

H.case('a question in the panel names the unsaved buffers, also those changed later', function()
  start(
    { ['a.txt'] = 'one\n', ['b.txt'] = 'two\n' },
    { H.call('bash', { command = 'touch made' }), { text = 'Done.' } },
    { sandbox = 'off' }
  )
  keys(':edit a.txt<CR>Ounsaved<Esc>:edit b.txt<CR>:AgentPrompt go<CR>')
  wait_text('saves 1 unsaved buffer: a.txt')
  keys('onew<Esc>')
  wait_text('saves 2 unsaved buffers: a.txt, b.txt')
  keys(':write<CR>')
  wait_text('saves 1 unsaved buffer: a.txt')
end)

H.case('a decided hunk leaves nothing on the screen', function()
  local list = {
    { old_string = 'two\n', new_string = 'two\nand a half\n' },
    { old_string = 'ten\n', new_string = 'TEN\n' },
  }
  start(
    { ['ten.txt'] = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n' },
    { H.call('edit', { path = 'ten.txt', edits = list }), { text = 'Done.' } }
  )
  keys(':edit ten.txt<CR>:AgentPrompt go<CR>')
  wait_hunks(2)
  local function signs()
    return lua([[
      vim.cmd.redraw()
      local rows = {}
      for row = 1, vim.o.lines do
        if vim.fn.screenstring(row, 1) == '▎' then rows[#rows + 1] = row end
      end
      return rows
    ]])
  end
  H.equal(#signs(), 2)
  keys('3G:AgentAccept<CR>')
  wait_hunks(1)
  wait_line(3, 'and a half')
  H.equal(signs(), { 11 })
end)

H.case('the end of a long answer is at the bottom even if some lines are concealed', function()
  start(files, { { text = ('```lua\nlocal x = 1\n```\n\n'):rep(30) .. 'The end.', chunks = 9 } })
  keys(':edit cart.go<CR>:AgentPrompt go<CR>')
  wait_seen('turn/completed', 1)
  wait_bottom('The end.')
end)

H.case('the end of the transcript is at the bottom after the summary has become shorter', function()
  local list = {
    { old_string = 'two\n', new_string = 'TWO\n' },
    { old_string = 'ten\n', new_string = 'TEN\n' },
  }
  start({ ['ten.txt'] = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n' }, {
    -- The text makes the transcript longer than its window.
    H.call('edit', { path = 'ten.txt', edits = list }, { text = ('Line.\n\n'):rep(20) }),
    { text = 'Done.' },
  })
  keys(':edit ten.txt<CR>:AgentPrompt go<CR>')
  wait_hunks(2)
  wait_bottom('    These keys work in this window.')
  keys(':AgentAccept!<CR>')
  wait_seen('turn/completed', 1)
  wait_bottom(' A keep all  U undo all  R review ')
  -- The view stays at the end when text that is not streamed is drawn.
  lua([[
    local t = require('agent_lsp.transcript')
    t.note('one more')
    t.flush()
  ]])
  H.equal(lua(at_bottom, ' A keep all  U undo all  R review '), true)
end)

H.case('a long message causes no hit-enter prompt, and the log has its full text', function()
  start(files, {})
  local long = ('long '):rep(40) .. 'end'
  lua([[require('agent_lsp.log').tell(...)]], long .. '\nsecond line')
  H.wait('the short', function()
    return messages():find('agent%-lsp: long .*lon.* … :AgentLog$')
  end)
  lua([[require('agent_lsp.log').tell(..., nil, 'the short version')]], long)
  H.wait('the short version', function()
    return messages():find('agent%-lsp: the short version$')
  end)
  keys(':AgentLog<CR>')
  H.wait('the whole', function()
    return lua([[return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')]]):find(
      long .. '\nsecond line',
      1,
      true
    )
  end)
end)

H.case('a long message from the daemon causes no hit-enter prompt', function()
  start(files, { { text = 'Hello.' } })
  keys(':edit cart.go<CR>:AgentPrompt go<CR>')
  wait_seen('turn/completed', 1)
  lua(
    [[
      local settings = { agentLsp = { [...] = true } }
      local c = vim.lsp.get_clients({ name = 'agent_lsp' })[1]
      require('agent_lsp.lsp').notify(c, 'workspace/didChangeConfiguration', { settings = settings })
    ]],
    ('unknown'):rep(40)
  )
  H.wait('the message', function()
    return messages():find('agent%-lsp: editor settings: unknown.* … :AgentLog')
  end)
end)

H.case(
  'with a global status line and no command line, a message causes no hit-enter prompt',
  function()
    local edit = H.call('edit', { path = 'ten.txt', old_string = 'two', new_string = 'TWO' })
    start({ ['ten.txt'] = 'one\ntwo\n' }, { edit, { text = 'Done.' } })
    lua([[vim.o.laststatus, vim.o.cmdheight = 3, 0]])
    keys(':edit ten.txt<CR>:AgentPrompt go<CR>')
    wait_hunks(1)
    keys(':AgentToggle<CR>')
    wait_panel(false)
    lua([[require('agent_lsp.log').tell('a short word')]])
    keys('2G:AgentAccept<CR>')
    wait_seen('turn/completed', 1) -- also shown as a message, because the panel is hidden
    wait_line(2, 'TWO')
    keys(':AgentToggle<CR>')
    wait_panel(true)
  end
)

H.case('an empty log is not opened, and a message says so', function()
  start(files, {})
  keys(':AgentLog<CR>')
  H.wait('the word', function()
    return messages():find('there are no log entries', 1, true)
  end)
  H.equal(lua([[return vim.fn.tabpagenr('$')]]), 1)
end)

H.case('opening a log causes no deprecation warning', function()
  start(files, {})
  lua([[require('agent_lsp.log').error('something went wrong')]])
  keys(':AgentLog<CR>')
  H.wait('the log', function()
    return lua([[return vim.api.nvim_buf_get_name(0)]]):find('log$')
  end)
  H.equal(messages():find('deprecated'), nil)
  stop()
end)

H.run()
