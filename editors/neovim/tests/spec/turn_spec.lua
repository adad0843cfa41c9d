--- Tests turns: prompts, streaming, steers, the queue, aborts, plan mode, a daemon that dies, and a
--- provider that fails.
local H = require('harness')

--- A command that ends only when it is killed.
local endless = { command = 'sleep 300' }

local function allow_all(script)
  return { script = script, settings = { permissions = { profile = 'trust' }, sandbox = 'off' } }
end

local function running(pattern)
  return #H.all('item/updated', function(p)
    return p.item.status == 'running' and (p.item.label or ''):find(pattern)
  end) > 0
end

H.case('a prompt streams its answer into the panel', function()
  H.start({
    script = {
      { text = 'Hello **you**, here is the answer.', chunks = 6, reasoning = 'Thinking it over.' },
    },
  })
  local win = vim.api.nvim_get_current_win()
  vim.cmd('AgentPrompt say hello')
  H.equal(H.turn().status, 'completed')
  H.wait('the text', function()
    return H.panel_text():find('Hello **you**, here is the answer.', 1, true)
  end)
  H.matches(H.panel_text(), '❯ say hello')
  H.matches(H.panel_text(), '> Thinking it over')
  H.equal(vim.api.nvim_get_current_win(), win, 'the focus moved')
end)

H.case('text appears in the panel while the answer still streams', function()
  H.start({ script = { { text = 'The first half.', stall = true } } })
  vim.cmd('AgentPrompt go')
  H.wait('the text', function()
    return H.panel_text():find('The first half.', 1, true)
  end)
  H.equal(H.all('turn/completed'), {})
  vim.cmd('AgentAbort')
  H.equal(H.turn().status, 'aborted')
end)

H.case('a prompt carries the document and the selection', function()
  H.start({
    files = { ['a.txt'] = 'one\ntwo\nthree\n' },
    script = { { expect = { lastUser = '(?s)a\\.txt.*two.*three' }, text = 'I see it.' } },
  })
  H.edit('a.txt')
  vim.cmd('2,3AgentPrompt explain')
  H.equal(H.turn().status, 'completed')
end)

H.case(
  'a range without a text applies to the next prompt from the input, and only to that prompt',
  function()
    H.start({
      files = { ['a.txt'] = 'one\ntwo\nthree\nfour\n' },
      script = {
        { text = 'First.' },
        { text = 'Second.' },
        H.call('bash', endless),
        { text = 'no' },
      },
      settings = { permissions = { profile = 'trust' }, sandbox = 'off' },
    })
    local buf, win = H.edit('a.txt'), vim.api.nvim_get_current_win()
    local sent = {}
    local client = require('agent_lsp.client')
    local request = client.request
    client.request = function(method, params, ...)
      table.insert(sent, { method, params })
      return request(method, params, ...)
    end
    local input = require('agent_lsp.input')
    local function say(text)
      vim.api.nvim_buf_set_lines(input.buffer(), 0, -1, false, { text })
      input.submit()
    end
    vim.cmd('2,3AgentPrompt')
    vim.cmd.stopinsert()
    H.matches(vim.api.nvim_eval_statusline(input.hint(), {}).str, '^ about a.txt:2%-3 ')
    local lines = { start = { line = 1, character = 0 }, ['end'] = { line = 3, character = 0 } }
    say('explain')
    H.turn()
    H.wait('the idle session', function() -- while a turn runs, the prompt would be a steer
      return require('agent_lsp.panel').state.status == 'idle'
    end)
    say('and now')
    H.turn(2)
    vim.api.nvim_set_current_win(win)
    vim.cmd('AgentPrompt go on')
    H.wait('the running tool', function()
      return running('sleep')
    end)
    vim.cmd('4AgentPrompt')
    vim.cmd.stopinsert()
    say('not this')
    vim.cmd('AgentAbort')
    H.turn(3)
    local prompts = vim.tbl_filter(function(s)
      return s[1] == 'agent/prompt' or s[1] == 'agent/steer'
    end, sent)
    local uri = vim.uri_from_bufnr(buf)
    H.equal(
      { prompts[1][2].context, prompts[2][2].context },
      { { uri = uri, selection = lines }, { uri = uri } }
    )
    local last = { start = { line = 3, character = 0 }, ['end'] = { line = 4, character = 0 } }
    H.equal(
      prompts[4][2].prompt,
      { { type = 'text', text = 'not this' }, { type = 'resource', uri = uri, range = last } }
    )
  end
)

H.case('the input window sends a prompt, keeps a history, and steers while a turn runs', function()
  H.start(allow_all({
    H.call('bash', endless),
    { expect = { lastUser = 'other way' }, text = 'Understood.' },
  }))
  vim.cmd('AgentPrompt')
  local input = require('agent_lsp.input')
  H.equal(vim.bo.filetype, 'agent_lsp_input')
  vim.cmd.stopinsert()
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'begin', 'with two lines' })
  input.submit()
  H.wait('the running tool', function()
    return running('sleep')
  end)
  H.equal(H.lines(), { '' })
  input.recall(-1)
  H.equal(H.lines(), { 'begin', 'with two lines' })
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'the other way, please' })
  input.submit()
  vim.cmd('AgentAbort')
  H.equal(H.turn().status, 'aborted')
  H.request('agent/continue', { sessionId = require('agent_lsp.transcript').session })
  H.equal(H.turn(2).status, 'completed')
  H.wait('the answer', function()
    return H.panel_text():find('Understood')
  end)
end)

H.case('a steer ends a pending review and reaches the model', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = {
      H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }),
      { expect = { lastUser = 'leave it' }, text = 'Left.' },
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentSteer leave it as it is')
  H.equal(H.turn().status, 'completed')
  H.hunks(0)
  H.equal(H.lines(), { 'one' })
end)

local function press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

--- Starts a turn whose edit waits for a decision, and moves the focus to the input. After the edit,
--- the model plays the other replies.
local function write_during_review(...)
  local edit = H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' })
  H.start({ files = { ['a.txt'] = 'one\n' }, script = { edit, ... } })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  local panel = require('agent_lsp.panel')
  H.wait('the review', function()
    return panel.state.status == 'awaiting'
  end)
  panel.focus_input()
  return panel
end

H.case('<CR> in the input asks before it rejects undecided changes', function()
  local because = { expect = { lastUser = 'why' }, text = 'Because.' }
  local panel = write_during_review({ text = 'Done.' }, because)
  H.choose('Keep typing')
  press('iwhy<CR><Esc>')
  H.equal(
    H.asked[1].items,
    { 'Send after this turn', 'Send now and reject 1 change', 'Keep typing' }
  )
  H.settle()
  H.hunks(1)
  H.choose('Send after this turn')
  press('<CR>')
  H.wait('the queue', function()
    return #panel.state.queue == 1
  end)
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn(2).status, 'completed', 'the queued message')
  H.equal(H.lines(vim.fn.bufnr('a.txt')), { 'ONE' })
end)

H.case('a text that is sent now rejects the undecided changes', function()
  write_during_review({ expect = { lastUser = 'leave it' }, text = 'Left.' })
  H.choose('^Send now and reject 1 change$')
  press('ileave it<CR><Esc>')
  H.equal(H.turn().status, 'completed')
  H.equal(#H.asked, 1)
  H.hunks(0)
  H.equal(H.lines(vim.fn.bufnr('a.txt')), { 'one' })
end)

H.case('Alt-Enter in the input queues the text for the end of the turn', function()
  local second = { expect = { lastUser = 'the second prompt' }, text = 'Second.' }
  local panel = write_during_review({ text = 'First.' }, second)
  press('ithe second prompt<M-CR><Esc>')
  H.wait('the queue', function()
    return #panel.state.queue == 1
  end)
  H.equal(H.asked, {})
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn(2).status, 'completed')
end)

H.case('a queued prompt starts the next turn', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = {
      H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }),
      { text = 'First.' },
      { expect = { lastUser = 'second' }, text = 'Second.' },
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt first')
  H.hunks(1)
  vim.cmd('AgentQueue the second prompt')
  H.wait('the queue in the panel', function()
    return H.panel_text():find('» the second prompt')
  end)
  vim.cmd('AgentAccept')
  H.equal(H.turn(2).status, 'completed')
  H.wait('the queue to empty', function()
    return not H.panel_text():find('»')
  end)
end)

H.case('a queued prompt is labeled with its text, or else with its attachments', function()
  local render = require('agent_lsp.render')
  H.equal(render.prompt_text('words'), 'words')
  local file, image =
    { type = 'resource', uri = 'file:///a.go', text = 'package a' },
    { type = 'image', data = 'AA==', mimeType = 'image/png' }
  H.equal(
    render.prompt_text({
      file,
      { type = 'text', text = 'explain' },
      image,
      { type = 'text', text = 'this' },
    }),
    'explain this'
  )
  H.equal(render.prompt_text({ file, image }), 'file:///a.go image')
  H.equal(render.prompt_text({}), '')
end)

H.case('a queued prompt can be removed', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = {
      H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }),
      { text = 'First.' },
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt first')
  H.hunks(1)
  vim.cmd('AgentQueue unwanted')
  H.event('session/updated', function(p)
    return p.queue and #p.queue == 1
  end)
  H.choose('unwanted')
  vim.cmd('AgentQueue')
  H.wait('the queue to empty', function()
    return #require('agent_lsp.panel').state.queue == 0
  end)
  H.equal(H.asked[1].items, { 'unwanted  (queued)' })
  vim.cmd('AgentAccept')
  H.equal(H.turn().status, 'completed')
end)

H.case('abort ends a running command and the next prompt works', function()
  H.start(allow_all({ H.call('bash', endless), { text = 'Again.' } }))
  vim.cmd('AgentPrompt go')
  H.wait('the running tool', function()
    return running('sleep')
  end)
  vim.cmd('AgentAbort')
  H.equal(H.turn().status, 'aborted')
  vim.cmd('AgentPrompt again')
  H.equal(H.turn(2).status, 'completed')
end)

H.case(
  'an abort without a turn and an unknown :AgentReview argument are answered with a message',
  function()
    H.start({ script = { { text = 'Done.' } } })
    vim.cmd('AgentAbort')
    vim.cmd('AgentPrompt go')
    H.turn()
    vim.cmd('AgentAbort')
    H.wait('both answers', function()
      return #H.notices == 2
    end)
    vim.cmd('AgentReview quickfx')
    H.wait('the third', function()
      return #H.notices == 3
    end)
    local said =
      { 'no turn is running', 'no turn is running', 'quickfx is not one of tab, quickfix, diff' }
    for i, want in ipairs(said) do
      H.equal(H.notices[i].text, 'agent-lsp: ' .. want)
    end
  end
)

H.case('plan mode presents a plan for approval and shows the task list', function()
  H.start({
    settings = { mode = 'plan' },
    files = { ['a.txt'] = 'one\n' },
    script = {
      H.call('present_plan', { plan = '1. change one' }),
      H.call('plan', {
        entries = {
          { content = 'change one', status = 'inProgress' },
          { content = 'look at it', status = 'pending' },
        },
      }),
      { text = 'Done.' },
    },
  })
  vim.cmd('AgentPrompt go')
  H.wait('the plan', function()
    return #require('agent_lsp.permission').list() == 1
      and H.panel_text():find('1. change one', 1, true)
  end)
  require('agent_lsp.permission').answer(1)
  H.equal(H.turn().status, 'completed')
  H.wait('the task list', function()
    return H.panel_text():find('● `change one`', 1, true)
  end)
end)

H.case('a daemon killed during a turn restarts with its session', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = {
      { text = 'Before the crash.' },
      H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }),
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt first')
  H.equal(H.turn().status, 'completed')
  vim.cmd('AgentPrompt second')
  H.hunks(1)
  H.script({ { text = 'After the crash.' } })
  local pid = H.request('agent/status', {}).pid
  vim.uv.kill(pid, 'sigkill')
  H.event('exit', function(p)
    return p.signal == 9
  end)
  H.event('ready', nil, 2)
  H.hunks(1)
  vim.cmd('AgentAccept')
  H.hunks(0)
  H.equal(H.lines(vim.fn.bufnr('a.txt')), { 'ONE' })
  H.equal(select(2, H.panel_text():gsub('Edit a.txt', '')), 1, 'the replay doubled the call')
  vim.cmd('AgentPrompt third')
  H.wait('the answer', function()
    return H.panel_text():find('After the crash')
  end)
  H.matches(H.panel_text(), 'Before the crash')
  local said = select(2, H.panel_text():gsub('Before the crash', ''))
  H.equal(said, 1, 'the replay doubled what was there')
end)

H.case('a daemon that cannot start says so', function()
  H.start({ setup = { cmd = { '/nonexistent/agent-lsp' } } })
  vim.cmd('AgentPrompt go')
  H.wait('the message', function()
    return H.notices[1]
  end)
  H.matches(H.notices[1].text, '/nonexistent/agent%-lsp')
end)

H.case('a prompt that could not be sent says why in the panel and returns to the input', function()
  H.start({ settings = { provider = { probe = false } } })
  vim.env.AGENT_LSP_SCRIPT = nil
  local input = require('agent_lsp.input')
  local function type_and_send(text, why)
    vim.cmd('AgentPrompt')
    vim.cmd.stopinsert()
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, '\n'))
    input.submit()
    H.wait('the prompt to come back', function()
      return table.concat(H.lines(input.buffer()), '\n') == text
    end)
    H.wait('the reason', function()
      return H.panel_text():find(why)
    end)
    H.equal(#H.notices, 1, 'how often it was told')
  end
  type_and_send('do it\nwell', '✗ `no model provider is configured')

  H.start({ setup = { cmd = { '/nonexistent/agent-lsp' } } })
  input = require('agent_lsp.input')
  type_and_send('do it', '✗ `.*/nonexistent/agent%-lsp')
end)

H.case(
  'a daemon that refuses to start says why, leaves no process, and the next command tries again',
  function()
    H.start({ files = { ['a.txt'] = 'one\n' }, script = { { text = 'x', nonsense = true } } })
    vim.cmd('AgentPrompt go')
    H.wait('the message', function()
      return H.notices[1]
    end)
    H.matches(H.notices[1].text, 'unknown field')
    H.equal(H.notices[1].text:find('stack traceback'), nil)
    H.wait('the end of the process', function()
      return #vim.lsp.get_clients({ name = 'agent_lsp' }) == 0
    end)
    H.script({ { text = 'Now.' } })
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
  end
)

H.case('invalid arguments and a provider error are shown, and the next prompt works', function()
  H.start({
    settings = { retry = { maxRetries = 0 } },
    script = {
      { toolCalls = { { name = 'edit', arguments = '{"path": ' } } },
      { error = { status = 401, message = 'bad key' } },
      { text = 'Works.' },
    },
  })
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'failed')
  H.wait('the error', function()
    return H.panel_text():find('✗ ')
  end)
  vim.cmd('AgentPrompt again')
  H.equal(H.turn(2).status, 'completed')
end)

H.run()
