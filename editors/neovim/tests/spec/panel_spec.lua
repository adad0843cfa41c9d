--- Tests the content and the appearance of the panel: hostile and unusual text, waiting requests,
--- folds, sub-agents, and little space.
local H = require('harness')

--- A command that ends only when it is killed.
local endless = { command = 'sleep 300' }

local function allow_all(script)
  return { script = script, settings = { permissions = { profile = 'trust' }, sandbox = 'off' } }
end

H.case('a hostile reply is shown as text and does nothing', function()
  local hostile = table.concat({
    '\27[31mred\27[0m \7 bell \0 nul \r return',
    '%{execute("let g:owned = 1")} %#Error#',
    '</script><img src=x onerror=alert(1)>',
    '``````',
    'vim: set foldmethod=expr foldexpr=execute("let\\ g\\:owned=1"):',
    '[click](command:quit) <a href="command:quit">here</a>',
    ('x'):rep(1024 * 1024),
    '*',
  }, '\n')
  H.start({ script = { { text = hostile, chunks = 7 }, { text = 'ok' } } })
  vim.cmd('AgentPrompt ' .. '%{execute("let g:owned = 1")} title')
  H.equal(H.turn().status, 'completed')
  H.wait('the text', function()
    return H.panel_text():find('onerror')
  end)
  vim.cmd.redrawstatus({ bang = true })
  vim.api.nvim_eval_statusline(
    vim.wo[require('agent_lsp.transcript').window()].winbar,
    { winid = 0, use_winbar = true }
  )
  vim.api.nvim_eval_statusline(require('agent_lsp').statusline(), {})
  H.equal(vim.g.owned, nil, 'the reply was executed')
  H.equal(H.panel_text():find('[%z\7\27]'), nil, 'control characters')
  vim.cmd('AgentPrompt again')
  H.equal(H.turn(2).status, 'completed')
end)

H.case(
  'commands, patterns and messages are shown verbatim, even if they contain Markdown syntax',
  function()
    H.start({
      settings = { sandbox = 'off' },
      -- The model is asked to continue an incomplete text.
      script = {
        H.call('bash', { command = 'rm *a* _b_ `c` ``````' }),
        { text = 'So.\n```go\nunclosed' },
        { text = 'Then *this*.' },
      },
    })
    vim.cmd('AgentPrompt remove *a* and _b_')
    H.wait('the question', function()
      return #require('agent_lsp.permission').list() == 1
        and H.panel_text():find('f  Reject', 1, true)
    end)
    local transcript = require('agent_lsp.transcript')
    --- Returns the visible part of the line that contains the text. Conceal hides the rest.
    local function seen(text)
      for i, line in ipairs(vim.api.nvim_buf_get_lines(transcript.buf, 0, -1, false)) do
        if line:find(text, 1, true) then
          local out = {}
          vim.treesitter.get_parser(transcript.buf, 'markdown'):parse(true)
          for col = 0, #line - 1 do
            local hidden = false
            for _, c in ipairs(vim.treesitter.get_captures_at_pos(transcript.buf, i - 1, col)) do
              hidden = hidden or (c.metadata.conceal ~= nil and not c.capture:find('block'))
            end
            table.insert(out, hidden and '' or line:sub(col + 1, col + 1))
          end
          return table.concat(out)
        end
      end
      error(text .. ' is not in\n' .. H.panel_text())
    end
    H.matches(seen('❯ remove'), vim.pesc('remove *a* and _b_'))
    H.matches(seen('$ rm'), vim.pesc('$ rm *a* _b_ `c` ``````'))
    H.matches(H.panel_text(), '%? `Run: needs your answer`', 'the command appears twice')
    require('agent_lsp.permission').answer(1)
    H.equal(H.turn().status, 'completed')
    H.wait('its end', function()
      return H.panel_text():find('exit code', 1, true)
    end)
    H.matches(seen('Run rm'), vim.pesc('Run rm *a* _b_ `c` ``````') .. ' +exit code')
    H.wait('the answer', function()
      return H.panel_text():find('Then *this*.', 1, true)
    end)
    H.equal(seen('Then *this*.'), 'Then this.', 'the block of the first answer was not closed')
  end
)

H.case('inline code has no gap before it', function()
  local entries = {
    { content = 'read `a.txt`', status = 'completed' },
    { content = '`b` is next', status = 'pending' },
  }
  local look = require('agent_lsp.render').item({
    data = { type = 'plan', entries = entries },
    text = '',
    depth = 0,
  })
  H.equal(look.lines, { 'Plan', '✓ ``read `a.txt` ``', '○ `` `b` is next``' })
end)

H.case('a count of one withdrawn or hidden line is in the singular', function()
  local function look(text)
    return require('agent_lsp.render').item({
      data = { type = 'assistantMessage', status = 'retracted' },
      text = text,
      depth = 0,
    }).lines
  end
  H.equal(look('broke'), { '(1 line withdrawn; the answer starts again)' })
  H.equal(look('broke\noff'), { '(2 lines withdrawn; the answer starts again)' })
  local result = ('x\n'):rep(401)
  local out = require('agent_lsp.render').item({
    data = { type = 'toolCall', name = 'bash', status = 'completed', result = result },
    done = true,
    depth = 0,
  })
  H.equal(out.lines[#out.lines - 1], '… 1 more line')
end)

H.case('a rejected edit shows its title only once', function()
  local look = require('agent_lsp.render').item({
    data = {
      type = 'toolCall',
      name = 'edit',
      label = 'Edit a.txt',
      status = 'denied',
      result = 'Edit a.txt: applied 0/1 hunks',
    },
    done = true,
    depth = 0,
  })
  H.equal(#look.lines, 1)
  H.matches(look.lines[1], 'Edit a%.txt: applied 0/1 hunks')
  H.equal(look.lines[1]:find('Edit.*Edit'), nil)
end)

H.case(
  'in a small panel the input keeps its height, its hint fits and the start of a question is visible',
  function()
    local lines, columns = vim.o.lines, vim.o.columns
    vim.o.lines, vim.o.columns = 24, 80
    local long = 'touch ' .. ('made '):rep(60)
    H.start({
      script = { H.call('bash', { command = long }), { text = 'no' } },
      settings = { sandbox = 'off' },
    })
    vim.cmd('AgentToggle')
    local panel, input = require('agent_lsp.transcript'), require('agent_lsp.input')
    local win = vim.fn.bufwinid(input.buffer())
    local function resized()
      vim.cmd('doautocmd WinResized')
      return vim.api.nvim_win_get_height(win)
    end
    H.equal(resized(), 4)
    vim.cmd('botright 14new')
    resized()
    vim.cmd('bwipeout')
    H.equal(resized(), 4, 'after a window below')
    vim.api.nvim_win_set_height(win, 8)
    H.equal(resized(), 8, 'as the user chose')
    H.equal(
      #vim.trim(
          vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true }).str
        ) < 40,
      true
    )
    vim.cmd('AgentPrompt go')
    H.wait('the question', function()
      return H.panel_text():find(':AgentAnswer', 1, true)
    end)
    local top = vim.api.nvim_win_call(panel.window(), function()
      vim.cmd('redraw')
      return vim.fn.getline('w0', 'w0')[1] .. vim.fn.getline(vim.fn.line('w0') + 1)
    end)
    H.matches(top, 'Allow this command%?', 'the first line that shows')
    vim.cmd('AgentAbort')
    H.turn()
    vim.o.lines, vim.o.columns = lines, columns
  end
)

H.case('an empty panel shows help until the first prompt', function()
  H.start({ script = { { text = 'Hello.' } } })
  vim.cmd('AgentToggle')
  local function told()
    return H.panel_text():find(' i  write a prompt', 1, true)
  end
  H.wait('what to do', told)
  local commands =
    { 'gla +accepts', 'glr +rejects', ':AgentReview', ':AgentUndo', ':AgentSessions' }
  for _, text in ipairs(commands) do
    H.matches(H.panel_text(), text, 'what to do')
  end
  local layout = require('agent_lsp.layout')
  local function hints(texts)
    for width, keys in pairs(texts) do
      vim.api.nvim_win_set_width(layout.input(), width)
      local hint = vim.api.nvim_win_call(layout.input(), require('agent_lsp.input').hint)
      H.matches(hint, keys .. '$')
      H.equal(vim.api.nvim_eval_statusline(hint, {}).width <= width, true, hint)
    end
  end
  hints({ [40] = 'Enter sends; @ adds a file', [20] = '#Enter sends' })
  local state = require('agent_lsp.panel').state
  state.status = 'running'
  hints({
    [60] = 'Enter sends now; Alt%-Enter after this turn; Ctrl%-C stops',
    [40] = 'Enter sends now; Ctrl%-C stops',
    [20] = '#Enter sends now',
  })
  state.status = 'idle'
  vim.cmd('AgentPrompt hi')
  H.equal(H.turn().status, 'completed')
  H.wait('its end', function()
    return not told()
  end)
  vim.cmd('AgentNew')
  H.wait('what to do', told)
end)

H.case(
  'an open question names its call once, and the second of two waiting calls is named in full',
  function()
    local question = 'Which currency?'
    H.start({
      settings = { sandbox = 'off' },
      script = {
        H.call('ask_user', { question = question, options = { { label = 'Euro' } } }),
        {
          toolCalls = {
            { name = 'bash', arguments = { command = 'touch one' } },
            { name = 'bash', arguments = { command = 'touch two' } },
          },
        },
        { text = 'Done.' },
      },
    })
    vim.cmd('AgentPrompt go')
    local permission = require('agent_lsp.permission')
    local function times(text)
      return select(2, H.panel_text():gsub(vim.pesc(text), ''))
    end
    H.wait('the question, once', function()
      return H.panel_text():find(' 1  Euro', 1, true) and times(question) == 1
    end)
    permission.answer(1)
    H.equal(times(question), 1, 'the answered question')
    -- The daemon may ask about either command first.
    local first = H.wait('the first command', function()
      return H.panel_text():match('%$ touch (%a+)')
    end)
    H.wait('both commands, once each', function()
      return times('touch one') == 1
        and times('touch two') == 1
        and times('`Run: needs your answer`') == 1
    end)
    permission.answer(1)
    H.wait('the second command', function()
      return H.panel_text():find('$ touch ' .. (first == 'one' and 'two' or 'one'), 1, true)
        and times('touch one') == 1
        and times('touch two') == 1
    end)
    permission.answer(1)
    H.equal(H.turn().status, 'completed')
  end
)

H.case(
  'output differs in color, a one-line error appears once, and the description of a choice is dim',
  function()
    local ask = { question = 'Which?', options = { { label = 'Red', description = 'like blood' } } }
    H.start(allow_all({
      {
        toolCalls = {
          { name = 'bash', arguments = { command = 'echo printed' } },
          { name = 'read', arguments = { path = 'nothing' } },
        },
      },
      H.call('ask_user', ask),
    }))
    vim.cmd('AgentPrompt go')
    H.wait('the question', function()
      return H.panel_text():find(' 1  Red  like blood', 1, true)
    end)
    local buf = require('agent_lsp.transcript').buf
    local function looks(text, group)
      for i, line in ipairs(H.lines(buf)) do
        local col = line:find(text, 1, true)
        if col and not line:find('echo') then
          return vim.iter(vim.inspect_pos(buf, i - 1, col - 1).extmarks):any(function(m)
            return m.opts.hl_group == group
          end)
        end
      end
    end
    H.equal(looks('printed', 'AgentLspOutput'), true, 'output')
    H.equal({ looks('Red', 'AgentLspMeta'), looks('like blood', 'AgentLspMeta') }, { false, true })
    H.equal(select(2, H.panel_text():gsub('does not exist', '')), 1)
  end
)

H.case('a pending change shows its keys, and <CR> on it goes to the change', function()
  H.start({
    files = { ['a.txt'] = 'one\ntwo\n' },
    script = {
      H.call('edit', { path = 'a.txt', old_string = 'two', new_string = 'TWO' }),
      { text = 'Done.' },
    },
  })
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  H.wait('the hint', function()
    return H.panel_text():find('1 change in 1 file, +1 -1', 1, true)
  end)
  H.matches(
    H.panel_text(),
    'There, gla accepts, glr rejects.\n.*    These keys work in this window%.'
  )
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.cmd('normal! G')
  vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'xt', false)
  H.matches(vim.api.nvim_buf_get_name(0), 'a.txt$')
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 2)
  vim.cmd('AgentAccept')
  H.equal(H.turn().status, 'completed')
  H.wait('the hint to go', function()
    return not H.panel_text():find('1 change in', 1, true)
  end)
  H.equal(H.panel_text():find('%d s\n'), nil, "the user's time is counted as the tool's")
end)

H.case('the panel folds thoughts and output, and gf opens the file under the cursor', function()
  H.start({
    files = { ['dir/a.txt'] = 'one\ntwo\nthree\n' },
    script = {
      H.call('read', { path = 'dir/a.txt' }, { reasoning = 'I look.\nClosely.' }),
      { text = 'See `dir/a.txt:2`.' },
    },
  })
  H.edit('dir/a.txt')
  vim.cmd('enew')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  local win = require('agent_lsp.transcript').window()
  H.wait('the end', function()
    return H.panel_text():find('dir/a.txt:2', 1, true)
  end)
  vim.api.nvim_set_current_win(win)
  local folded = {}
  for i, line in ipairs(H.lines()) do
    if vim.fn.foldclosed(i) == i then
      table.insert(folded, vim.fn.foldtextresult(i))
    end
    if line:find('dir/a.txt:2', 1, true) then
      vim.api.nvim_win_set_cursor(win, { i, (line:find('dir/')) })
    end
  end
  H.matches(table.concat(folded, '\n'), '▸ I look%. %(2 lines%)\n.*output, %d+ lines')
  vim.cmd.normal('gf')
  H.matches(vim.api.nvim_buf_get_name(0), 'dir/a.txt$')
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 2)
end)

H.case('c sends the first queued prompt, or continues a stopped turn', function()
  H.start(allow_all({
    H.call('bash', endless),
    { text = 'The queued one.' },
    H.call('bash', endless),
    { text = 'The rest.' },
  }))
  vim.cmd('AgentPrompt go')
  H.wait('the command', function()
    return H.panel_text():find('● `Run sleep', 1, true)
  end)
  vim.cmd('AgentQueue and then this')
  H.wait('the queue', function()
    return H.panel_text():find('» and then this', 1, true)
  end)
  H.equal(
    H.panel_text():find(' c  ', 1, true),
    nil,
    'while a turn runs there is nothing to go on with'
  )
  vim.cmd('AgentAbort')
  H.equal(H.turn().status, 'aborted')
  H.wait('the hint', function()
    return H.panel_text():find(' c  send the first queued prompt', 1, true)
  end)
  local function press()
    vim.api.nvim_win_call(require('agent_lsp.transcript').window(), function()
      vim.api.nvim_feedkeys('c', 'xt', false)
    end)
  end
  press()
  H.equal(H.turn(2).status, 'completed')
  H.wait('the answer', function()
    return H.panel_text():find('The queued one.', 1, true)
      and not H.panel_text():find(' c  ', 1, true)
  end)
  vim.cmd('AgentPrompt again')
  H.event('item/updated', function(p)
    return p.item.status == 'running'
  end, 2)
  vim.cmd('AgentAbort')
  H.equal(H.turn(3).status, 'aborted')
  H.wait('the hint', function()
    return H.panel_text():find(' c  continue the stopped turn', 1, true)
  end)
  press()
  H.equal(H.turn(4).status, 'completed')
  H.wait('the rest', function()
    return H.panel_text():find('The rest.', 1, true)
  end)
end)

H.case('a sub-agent is shown behind a vertical line, and x stops it', function()
  H.start(allow_all({
    H.call('agent', { agent = 'general', task = 'wait a while' }),
    H.call('bash', endless),
    { text = 'It was stopped.' },
  }))
  vim.cmd('AgentPrompt go')
  H.wait('the child', function()
    return H.panel_text():find('│ ● `Run sleep')
  end)
  local win = require('agent_lsp.transcript').window()
  vim.api.nvim_set_current_win(win)
  for i, line in ipairs(H.lines()) do
    if line:find('│ ● ') then
      vim.api.nvim_win_set_cursor(win, { i, 0 })
    end
  end
  vim.api.nvim_feedkeys('x', 'xt', false)
  H.equal(H.turn().status, 'completed')
end)

H.case('an almost empty context shows no gauge', function()
  H.start({ script = { { text = 'ok' } } })
  vim.cmd('AgentToggle')
  local panel, events = require('agent_lsp.panel'), require('agent_lsp.events')
  local win = require('agent_lsp.transcript').window()
  for tokens, want in pairs({ [10] = false, [3200] = true }) do
    events.emit('session/updated', { contextTokens = tokens, contextWindow = 32000 })
    H.equal(panel.statusline(), want and 'agent: context 10%%' or '')
    H.equal(vim.wo[win].winbar:find('context 10%%', 1, true) ~= nil, want, 'window bar')
  end
end)

H.case(
  'a title that the window bar cannot show is below the transcript; the state is whole',
  function()
    H.start({ script = { { text = 'ok' } } })
    vim.cmd('AgentToggle')
    local events = require('agent_lsp.events')
    local win = require('agent_lsp.transcript').window()
    for width = 20, 60 do
      vim.api.nvim_win_set_width(win, width)
      events.emit('session/updated', {
        status = 'awaiting',
        title = 'Fix the parser',
        usage = { cost = 0.0132 },
        contextTokens = 6400,
        contextWindow = 32000,
      })
      local shown =
        vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true })
      H.equal(shown.str:find('● ', 1, true), 2, width .. ': ' .. shown.str)
      H.equal(shown.width <= width, true, width .. ': ' .. shown.str)
      local below = vim.api.nvim_eval_statusline(vim.wo[win].statusline, { winid = win })
      local title = shown.str:find('Fix the parser', 1, true) or below.str == ' Fix the parser'
      H.equal(not title, false, width .. ': ' .. below.str)
    end
    H.equal(vim.wo[win].statusline, ' agent-lsp', 'below the transcript, if the bar has the title')
    local wide =
      vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true })
    H.matches(wide.str, 'Fix the parser +%$0%.0132 · context 20%% $')
  end
)

H.run()
