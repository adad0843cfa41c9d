--- Prompt, stream, steer, queue, abort; permission, question, plan mode; the daemon's death and a provider's failure.
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
  H.start({ script = { { text = 'Hello **you**, here is the answer.', chunks = 6, reasoning = 'Thinking it over.' } } })
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

H.case('a prompt carries the document and the selection', function()
  H.start({ files = { ['a.txt'] = 'one\ntwo\nthree\n' }, script = { { expect = { lastUser = 'a\\.txt' }, text = 'I see it.' } } })
  H.edit('a.txt')
  vim.cmd('2,3AgentPrompt explain')
  H.equal(H.turn().status, 'completed')
end)

H.case('a range without a text is what the next prompt of the input is about, and only that one', function()
  H.start({
    files = { ['a.txt'] = 'one\ntwo\nthree\nfour\n' },
    script = { { text = 'First.' }, { text = 'Second.' }, H.call('bash', endless), { text = 'no' } },
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
  H.wait('the idle session', function() -- or it would be a steer
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
  H.equal({ prompts[1][2].context, prompts[2][2].context }, { { uri = uri, selection = lines }, { uri = uri } })
  local last = { start = { line = 3, character = 0 }, ['end'] = { line = 4, character = 0 } }
  H.equal(prompts[4][2].prompt, { { type = 'text', text = 'not this' }, { type = 'resource', uri = uri, range = last } })
end)

H.case('the input window sends a prompt, keeps a history, and steers while a turn runs', function()
  H.start(allow_all({ H.call('bash', endless), { expect = { lastUser = 'other way' }, text = 'Understood.' } }))
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

H.case('a steer ends the wait of a review and reaches the model', function()
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

H.case('a waiting prompt of several blocks is named by its words, else by what it holds', function()
  local render = require('agent_lsp.render')
  H.equal(render.prompt_text('words'), 'words')
  local file, image =
    { type = 'resource', uri = 'file:///a.go', text = 'package a' }, { type = 'image', data = 'AA==', mimeType = 'image/png' }
  H.equal(render.prompt_text({ file, { type = 'text', text = 'explain' }, image, { type = 'text', text = 'this' } }), 'explain this')
  H.equal(render.prompt_text({ file, image }), 'file:///a.go image')
  H.equal(render.prompt_text({}), '')
end)

H.case('a queued prompt can be taken back', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = { H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }), { text = 'First.' } },
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

H.case('a permission is answered by one key in the panel', function()
  H.start({ script = { H.call('bash', { command = 'touch made' }), { text = 'Done.' } }, settings = { sandbox = 'off' } })
  vim.cmd('AgentPrompt go')
  H.wait('the question', function()
    return H.panel_text():find('$ touch made', 1, true)
  end)
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  local key = H.panel_text():match(' (%d)  Allow')
  vim.api.nvim_feedkeys(key, 'xt', false)
  H.equal(H.turn().status, 'completed')
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 1)
  H.wait('the question to go', function()
    return not H.panel_text():find('$ touch made', 1, true)
  end)
end)

--- Waits until the first request is there.
local function request()
  return H.wait('the request', function()
    return require('agent_lsp.permission').list()[1]
  end)
end

H.case('with the panel hidden a permission opens no prompt: a notification names the command that does', function()
  H.start({
    files = { ['a.txt'] = 'one\n', ['b.txt'] = 'two\n' },
    script = { H.call('bash', { command = 'touch made' }), { text = 'Then not.' } },
    settings = { sandbox = 'off' },
  })
  for _, name in ipairs({ 'a.txt', 'b.txt' }) do
    H.edit(name)
    vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'unsaved' })
  end
  vim.cmd('AgentPrompt go')
  require('agent_lsp.panel').close()
  local entry = request()
  H.wait('the notification', function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find('asks to run: touch made', 1, true) and n.text:find(':AgentAnswer', 1, true)
    end)
  end)
  H.settle()
  H.equal(H.asked, {}, 'a prompt was opened')
  H.matches(require('agent_lsp').statusline(), '1 question %(:AgentAnswer%)')
  H.choose(false)
  vim.cmd('AgentAnswer')
  H.matches(H.asked[1].text, '%$ touch made')
  H.matches(H.asked[1].text, 'saves 2 unsaved buffers: a.txt, b.txt')
  H.settle()
  H.equal(require('agent_lsp.permission').list()[1], entry, 'a prompt that was left decided something')
  H.choose('^Reject')
  vim.cmd('AgentAnswer')
  H.equal(H.turn().status, 'completed')
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
  H.event('item/completed', function(p)
    return p.item.status == 'denied'
  end)
end)

--- Types into the input and presses <CR>.
local function enter(text)
  require('agent_lsp.panel').focus_input()
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('i' .. text .. '<CR><Esc>', true, false, true), 'xt', false)
end

local function input_text()
  return table.concat(vim.api.nvim_buf_get_lines(require('agent_lsp.input').buffer(), 0, -1, false), '\n')
end

for text, made in pairs({ ['1'] = 1, y = 1, yes = 1, n = 0 }) do
  H.case(('%q typed in the input answers a permission on Enter'):format(text), function()
    H.start({ script = { H.call('bash', { command = 'touch made' }), { text = 'Done.' } }, settings = { sandbox = 'off' } })
    vim.cmd('AgentPrompt go')
    request()
    require('agent_lsp.panel').focus_input()
    vim.api.nvim_feedkeys('i' .. text, 'xt', false)
    H.settle()
    H.equal(#require('agent_lsp.permission').list(), 1, 'typing decided something')
    vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('A<CR><Esc>', true, false, true), 'xt', false)
    H.equal(H.turn().status, 'completed')
    H.equal(vim.fn.filereadable(H.dir .. '/made'), made)
    H.equal(H.asked, {})
    H.equal(input_text(), '')
  end)
end

H.case('any other text typed while a permission waits asks what it is for', function()
  H.start({
    script = { H.call('bash', { command = 'touch made' }), { expect = { lastTool = 'yes, but later' }, text = 'Then not.' } },
    settings = { sandbox = 'off' },
  })
  vim.cmd('AgentPrompt go')
  local entry = request()
  H.choose('Keep typing')
  enter('yes, but later')
  H.equal(H.asked[1].items, { 'Reject with this comment', 'Steer', 'Keep typing' })
  H.equal(input_text(), 'yes, but later')
  H.choose(false)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<CR>', true, false, true), 'xt', false)
  H.settle()
  H.equal(require('agent_lsp.permission').list()[1], entry, 'the text decided something')
  H.choose('Reject with this comment')
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<CR>', true, false, true), 'xt', false)
  H.equal(H.turn().status, 'completed')
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
  H.equal(input_text(), '')
end)

H.case('a text that was begun before the question came is not an answer to it', function()
  H.start({
    script = { { delayMs = 300, toolCalls = H.call('bash', { command = 'touch made' }).toolCalls }, { text = 'Done.' } },
    settings = { sandbox = 'off' },
  })
  vim.cmd('AgentPrompt go')
  require('agent_lsp.panel').focus_input()
  vim.api.nvim_feedkeys('iy', 'xt', false)
  vim.cmd.doautocmd('TextChangedI')
  request()
  H.choose(false)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('A<CR><Esc>', true, false, true), 'xt', false)
  H.equal(H.asked[1].items[3], 'Keep typing')
  H.equal(#require('agent_lsp.permission').list(), 1)
  vim.cmd('AgentAbort')
  H.turn()
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
end)

H.case('a stop that discards undecided changes asks first', function()
  H.start({ files = { ['a.txt'] = 'one\n' }, script = { H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }) } })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  for _, answer in ipairs({ false, 'Keep reviewing' }) do
    H.choose(answer)
    vim.cmd('AgentAbort')
    H.settle()
    H.hunks(1)
  end
  H.equal(H.asked[1].items, { 'Keep reviewing', 'Stop and discard 1 change' })
  H.choose('Stop and discard 1 change')
  vim.cmd('AgentAbort')
  H.equal(H.turn().status, 'aborted')
  H.hunks(0)
end)

H.case('a permission is refused with words for the model', function()
  H.start({
    script = { H.call('bash', { command = 'touch made' }), { expect = { lastTool = 'not on a Sunday' }, text = 'Then not.' } },
    settings = { sandbox = 'off' },
  })
  vim.cmd('AgentPrompt go')
  H.wait('the question', function()
    return H.panel_text():find('$ touch made', 1, true)
  end)
  H.choose('not on a Sunday')
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.api.nvim_feedkeys('f', 'xt', false)
  H.equal(H.turn().status, 'completed')
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
end)

H.case('a question is answered by a choice, by words, or not', function()
  local ask = H.call('ask_user', { question = 'Which colour?', options = { { label = 'red' }, { label = 'blue' } } })
  H.start({
    script = {
      ask,
      { expect = { lastTool = 'blue' }, toolCalls = ask.toolCalls },
      { expect = { lastTool = 'green' }, toolCalls = { { name = 'ask_user', arguments = { question = 'Anything else?' } } } },
      { text = 'Fine.' },
    },
  })
  vim.cmd('AgentPrompt go')
  local panel = require('agent_lsp.transcript')
  local permission = require('agent_lsp.permission')
  local function question(n, text)
    H.wait('question ' .. n, function()
      return #H.all('item/started', function(p)
        return p.item.type == 'toolCall'
      end) == n and #permission.list() == 1 and H.panel_text():find(text, 1, true)
    end)
  end
  question(1, 'Which colour?')
  vim.api.nvim_set_current_win(panel.window())
  vim.api.nvim_feedkeys('2', 'xt', false)
  question(2, 'Which colour?')
  H.choose('green', false)
  vim.api.nvim_feedkeys('a', 'xt', false)
  question(3, 'Anything else?')
  vim.api.nvim_feedkeys('a', 'xt', false)
  H.equal(H.turn().status, 'completed')
end)

H.case('of a question that takes several answers keys mark them and <CR> sends them; the same by vim.ui.select', function()
  local options = { { label = 'red' }, { label = 'blue' }, { label = 'green' } }
  local ask = { { name = 'ask_user', arguments = { question = 'Which ones?', options = options, multi = true } } }
  H.start({
    script = {
      { toolCalls = ask },
      { expect = { lastTool = 'answered: red, green$' }, toolCalls = ask },
      { expect = { lastTool = 'answered: blue, green$' }, toolCalls = ask },
      { expect = { lastTool = 'declined' }, text = 'Fine.' },
    },
  })
  vim.cmd('AgentPrompt go')
  local panel = require('agent_lsp.transcript')
  local function footer(text)
    H.wait(text, function()
      return H.panel_text():find(text, 1, true)
    end)
  end
  footer(' 3  [ ] green')
  vim.api.nvim_set_current_win(panel.window())
  vim.api.nvim_feedkeys('132', 'xt', false)
  footer(' 2  [x] blue')
  vim.api.nvim_feedkeys('2', 'xt', false)
  footer(' 2  [ ] blue')
  footer(' 3  [x] green')
  H.choose(2, 1, 3, 1, 'Send')
  local first = request()
  vim.api.nvim_feedkeys('\r', 'xt', false)
  vim.cmd('AgentToggle') -- hidden, the next one is asked by vim.ui.select where the user wants it
  H.wait('the second question', function()
    return request() ~= first
  end)
  local second = request()
  vim.cmd('AgentAnswer')
  H.equal(H.asked[2].items, { '[ ] red', '[x] blue', '[ ] green', 'Send' })
  H.wait('the third question', function()
    return request() ~= second
  end)
  H.choose(4) -- none is marked
  vim.cmd('AgentAnswer')
  H.equal(H.turn().status, 'completed')
end)

H.case('an abort without a turn, before the daemon runs and after, and a way to review that there is not, are answered in words', function()
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
  local said = { 'no turn is running', 'no turn is running', 'quickfx is not one of tab, quickfix, diff' }
  for i, want in ipairs(said) do
    H.equal(H.notices[i].text, 'agent-lsp: ' .. want)
  end
end)

H.case('an abort takes a pending permission away', function()
  H.start({ script = { H.call('bash', { command = 'touch made' }) }, settings = { sandbox = 'off' } })
  vim.cmd('AgentPrompt go')
  H.wait('the question', function()
    return #require('agent_lsp.permission').list() == 1
  end)
  vim.cmd('AgentAbort')
  H.equal(H.turn().status, 'aborted')
  H.wait('the question to go', function()
    return #require('agent_lsp.permission').list() == 0
  end)
end)

H.case('plan mode presents a plan for approval and shows the task list', function()
  H.start({
    settings = { mode = 'plan' },
    files = { ['a.txt'] = 'one\n' },
    script = {
      H.call('present_plan', { plan = '1. change one' }),
      H.call('plan', { entries = { { content = 'change one', status = 'inProgress' }, { content = 'look at it', status = 'pending' } } }),
      { text = 'Done.' },
    },
  })
  vim.cmd('AgentPrompt go')
  H.wait('the plan', function()
    return #require('agent_lsp.permission').list() == 1 and H.panel_text():find('1. change one', 1, true)
  end)
  require('agent_lsp.permission').answer(1)
  H.equal(H.turn().status, 'completed')
  H.wait('the task list', function()
    return H.panel_text():find('● `change one`', 1, true)
  end)
end)

H.case('a daemon killed in mid-turn comes back with its session', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = { { text = 'Before the crash.' }, H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }) },
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

H.case('a prompt that could not be sent says why in the panel and stands in the input again', function()
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

H.case('a daemon that refuses to start says why, leaves no process, and the next command tries again', function()
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
end)

H.case('broken arguments and a failing provider end in words, and the next prompt works', function()
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
