--- Tests permissions and questions, and how the user answers them in the panel, in the input, and
--- with a command.
local H = require('harness')

H.case('a permission is answered by one key in the panel', function()
  H.start({
    script = { H.call('bash', { command = 'touch made' }), { text = 'Done.' } },
    settings = { sandbox = 'off' },
  })
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

H.case('a question shows control and invisible characters of a command as escapes', function()
  H.start({
    script = {
      H.call('bash', { command = 'touch a\27[0Kb\rc e\u{fe0f}f\u{180b}g\u{e0100}hé' }),
      { text = 'Done.' },
    },
    settings = { sandbox = 'off' },
  })
  vim.cmd('AgentPrompt go')
  H.wait('the question', function()
    return H.panel_text():find('$ touch a\\x1b[0Kb\\x0dc e\\ufe0ff\\u180bg\\U000e0100hé', 1, true)
  end)
end)

--- Waits until the first request has arrived.
local function request()
  return H.wait('the request', function()
    return require('agent_lsp.permission').list()[1]
  end)
end

H.case(
  'with the panel hidden a permission opens no prompt, but a notification names :AgentAnswer',
  function()
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
        return n.text:find('asks to run: touch made', 1, true)
          and n.text:find(':AgentAnswer', 1, true)
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
    H.equal(
      require('agent_lsp.permission').list()[1],
      entry,
      'a prompt that was left decided something'
    )
    H.choose('^Reject')
    vim.cmd('AgentAnswer')
    H.equal(H.turn().status, 'completed')
    H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
    H.event('item/completed', function(p)
      return p.item.status == 'denied'
    end)
  end
)

--- Types into the input and presses <CR>.
local function enter(text)
  require('agent_lsp.panel').focus_input()
  vim.api.nvim_feedkeys(
    vim.api.nvim_replace_termcodes('i' .. text .. '<CR><Esc>', true, false, true),
    'xt',
    false
  )
end

local function input_text()
  return table.concat(
    vim.api.nvim_buf_get_lines(require('agent_lsp.input').buffer(), 0, -1, false),
    '\n'
  )
end

for text, made in pairs({ ['1'] = 1, y = 1, yes = 1, n = 0 }) do
  H.case(('%q typed in the input answers a permission on Enter'):format(text), function()
    H.start({
      script = { H.call('bash', { command = 'touch made' }), { text = 'Done.' } },
      settings = { sandbox = 'off' },
    })
    vim.cmd('AgentPrompt go')
    request()
    require('agent_lsp.panel').focus_input()
    vim.api.nvim_feedkeys('i' .. text, 'xt', false)
    H.settle()
    H.equal(#require('agent_lsp.permission').list(), 1, 'typing decided something')
    vim.api.nvim_feedkeys(
      vim.api.nvim_replace_termcodes('A<CR><Esc>', true, false, true),
      'xt',
      false
    )
    H.equal(H.turn().status, 'completed')
    H.equal(vim.fn.filereadable(H.dir .. '/made'), made)
    H.equal(H.asked, {})
    H.equal(input_text(), '')
  end)
end

H.case('other text sent while a permission waits opens a choice of what to do with it', function()
  H.start({
    script = {
      H.call('bash', { command = 'touch made' }),
      { expect = { lastTool = 'yes, but later' }, text = 'Then not.' },
    },
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

H.case('the choice "Steer" refuses the permission and sends the text as a message', function()
  H.start({
    script = {
      H.call('bash', { command = 'touch made' }),
      { expect = { lastUser = 'look at the tests' }, text = 'Then not.' },
    },
    settings = { sandbox = 'off' },
  })
  vim.cmd('AgentPrompt go')
  request()
  H.choose('^Steer$')
  enter('look at the tests')
  H.equal(H.turn().status, 'completed')
  H.equal(#H.asked, 1)
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
  H.equal(input_text(), '')
end)

H.case('text begun before a question arrives is not an answer to the question', function()
  H.start({
    script = {
      { delayMs = 300, toolCalls = H.call('bash', { command = 'touch made' }).toolCalls },
      { text = 'Done.' },
    },
    settings = { sandbox = 'off' },
  })
  vim.cmd('AgentPrompt go')
  require('agent_lsp.panel').focus_input()
  vim.api.nvim_feedkeys('iy', 'xt', false)
  vim.cmd.doautocmd('TextChangedI')
  request()
  H.choose(false)
  vim.api.nvim_feedkeys(
    vim.api.nvim_replace_termcodes('A<CR><Esc>', true, false, true),
    'xt',
    false
  )
  H.equal(H.asked[1].items[3], 'Keep typing')
  H.equal(#require('agent_lsp.permission').list(), 1)
  vim.cmd('AgentAbort')
  H.turn()
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 0)
end)

H.case('a stop that discards undecided changes asks first', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = { H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }) },
  })
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

H.case('every choice that outlives the question says which commands it covers', function()
  H.start({
    script = { H.call('bash', { command = 'go test ./...' }), { text = 'Then not.' } },
    settings = { sandbox = 'off' },
  })
  vim.cmd('AgentPrompt go')
  local entry = request()
  H.equal((require('agent_lsp.permission').choices(entry)), {
    'Allow once',
    'Allow for this session  (rule: bash(go test *))',
    'Always allow in this workspace  (same rule)',
    'Reject',
    'Always reject in this workspace  (exactly this command)',
  })
  H.wait('the choices', function()
    return H.panel_text():find(' 3  Always allow in this workspace  (same rule)', 1, true)
  end)
  vim.cmd('AgentAbort')
  H.turn()
end)

H.case('a permission can be refused with a comment for the model', function()
  H.start({
    script = {
      H.call('bash', { command = 'touch made' }),
      { expect = { lastTool = 'not on a Sunday' }, text = 'Then not.' },
    },
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

H.case('a question can be answered by a choice, by free text or not at all', function()
  local ask = H.call(
    'ask_user',
    { question = 'Which color?', options = { { label = 'red' }, { label = 'blue' } } }
  )
  H.start({
    script = {
      ask,
      { expect = { lastTool = 'blue' }, toolCalls = ask.toolCalls },
      {
        expect = { lastTool = 'green' },
        toolCalls = { { name = 'ask_user', arguments = { question = 'Anything else?' } } },
      },
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
  question(1, 'Which color?')
  vim.api.nvim_set_current_win(panel.window())
  vim.api.nvim_feedkeys('2', 'xt', false)
  question(2, 'Which color?')
  H.choose('green', false)
  vim.api.nvim_feedkeys('a', 'xt', false)
  question(3, 'Anything else?')
  vim.api.nvim_feedkeys('a', 'xt', false)
  H.equal(H.turn().status, 'completed')
end)

H.case(
  'several answers can be marked by keys and sent by <CR>, or chosen with vim.ui.select',
  function()
    local options = { { label = 'red' }, { label = 'blue' }, { label = 'green' } }
    local ask = {
      {
        name = 'ask_user',
        arguments = { question = 'Which ones?', options = options, multi = true },
      },
    }
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
    -- The panel is hidden, so the user answers with :AgentAnswer, which uses vim.ui.select.
    vim.cmd('AgentToggle')
    H.wait('the second question', function()
      return request() ~= first
    end)
    local second = request()
    vim.cmd('AgentAnswer')
    H.equal(H.asked[2].items, { '[ ] red', '[x] blue', '[ ] green', 'Send' })
    H.wait('the third question', function()
      return request() ~= second
    end)
    H.choose(4) -- sends the marked choices; none is marked
    vim.cmd('AgentAnswer')
    H.equal(H.turn().status, 'completed')
  end
)

H.case('an abort withdraws a pending permission', function()
  H.start({
    script = { H.call('bash', { command = 'touch made' }) },
    settings = { sandbox = 'off' },
  })
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

H.run()
