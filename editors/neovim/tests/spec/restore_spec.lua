--- Tests undo, checkpoints and restores.
local H = require('harness')

local function edit_a(old, new)
  return H.call('edit', { path = 'a.txt', old_string = old, new_string = new })
end

local auto = { editPolicy = 'auto' }

H.case('the last turn can be undone and redone, also in a buffer', function()
  H.start({
    files = { ['a.txt'] = 'one\ntwo\n' },
    settings = auto,
    script = { edit_a('one', 'ONE'), { text = 'Done.' } },
  })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines(buf)[1], 'ONE')
  vim.cmd('AgentUndo')
  H.wait('the undo', function()
    return H.lines(buf)[1] == 'one'
  end)
  H.wait('the word', function()
    return #H.notices > 0
  end)
  vim.cmd('AgentUndo')
  H.wait('the redo', function()
    return H.lines(buf)[1] == 'ONE'
  end)
  H.wait('the second word', function()
    return #H.notices == 2
  end)
  H.matches(H.notices[1].text, '1 file restored')
  H.matches(H.notices[2].text, '1 file brought back')
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'one' }) -- the user undid the change manually
  vim.cmd('silent write')
  H.notices = {}
  vim.cmd('AgentUndo')
  H.wait('the word', function()
    return #H.notices > 0
  end)
  H.equal(
    H.notices[1].text,
    'agent-lsp: nothing to undo: the files already have their earlier content'
  )
end)

--- Waits for a message. The daemon answers a restore only after it has changed the files.
local function told(text)
  H.wait(text, function()
    return vim.iter(H.notices):any(function(notice)
      return notice.text:find(text, 1, true)
    end)
  end)
end

H.case('a checkpoint is chosen and restored', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    settings = auto,
    script = {
      edit_a('one', 'two'),
      { text = 'Done.' },
      edit_a('two', 'three'),
      { text = 'Done.' },
    },
  })
  local first = 'first, with a prompt that is too long for one line of the list of checkpoints'
  vim.cmd('AgentPrompt ' .. first)
  H.equal(H.turn().status, 'completed')
  vim.cmd('AgentPrompt second')
  H.equal(H.turn(2).status, 'completed')
  H.equal(H.read(H.dir .. '/a.txt'), 'three\n')
  H.choose(2)
  vim.cmd('AgentCheckpoints')
  H.wait('the preview', function()
    return vim.bo.filetype == 'diff'
  end)
  local shown = table.concat(H.lines(), '\n')
  H.matches(shown, 'before: ' .. first .. '\nEnter restores')
  H.matches(shown, '\nalso undone: today %d+:%d+  a.txt .*before: second\n')
  H.matches(shown, '\n%-one\n%+three$')
  H.equal(H.read(H.dir .. '/a.txt'), 'three\n', 'the preview restores nothing')
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<CR>', true, false, true), 'xt', false)
  told('1 file restored')
  H.equal(H.read(H.dir .. '/a.txt'), 'one\n')
  H.matches(H.asked[1].items[1], '^today %d+:%d+ +a.txt  %+1 %-1  before: second$')
  H.matches(H.asked[1].items[2], 'before: first, with .*…$')
  vim.cmd('AgentCheckpoints')
  H.wait('the choice', function()
    return H.asked[2]
  end)
  H.matches(H.asked[2].items[1], 'before: an undo$')
  vim.cmd('AgentUndo')
  told('1 file brought back')
  H.equal(H.read(H.dir .. '/a.txt'), 'three\n')
  vim.cmd('AgentCheckpoints')
  H.wait('the choice', function()
    return H.asked[3]
  end)
  H.matches(H.asked[3].items[1], 'before: a redo$')
  for _, item in ipairs(H.asked[3].items) do
    H.equal(vim.api.nvim_strwidth(item) <= vim.o.columns - 4, true, item)
  end
end)

H.case('files and conversation can be restored to their state before a prompt', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    settings = auto,
    script = {
      { text = 'Hello.' },
      edit_a('one', 'two'),
      { text = 'Changed.' },
      { expect = { notSent = 'second' }, text = 'Again.' },
    },
  })
  vim.cmd('AgentPrompt first')
  H.turn()
  vim.cmd('AgentPrompt second')
  H.turn(2)
  H.wait('the answer', function()
    return H.panel_text():find('Changed.', 1, true)
  end)
  H.choose(1)
  vim.cmd('AgentCheckpoints')
  H.wait('the preview', function()
    return vim.bo.filetype == 'diff'
  end)
  H.matches(H.lines()[2], 'restores the files, b also the conversation, q closes the window%.$')
  vim.api.nvim_feedkeys('b', 'xt', false)
  H.wait('the conversation without the second prompt', function()
    local text = H.panel_text()
    return text:find('Hello.', 1, true) and not text:find('second', 1, true)
  end)
  H.equal(H.read(H.dir .. '/a.txt'), 'one\n')
  H.wait('the message', function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find(
        '1 file and the conversation restored to the state before "second"; :AgentUndo undoes this',
        1,
        true
      )
    end)
  end)
  H.wait('the entry, which can be undone', function()
    return H.panel_text():find('1 file and the conversation restored: a.txt', 1, true)
  end)
  vim.cmd('AgentPrompt third')
  H.equal(H.turn(3).status, 'completed')
end)

--- Waits until the panel contains all the given texts in this order, and none of the others.
local function shows(texts, others)
  H.wait(table.concat(texts, ', '), function()
    local text, at = H.panel_text(), 1
    for _, part in ipairs(texts) do
      at = select(2, text:find(part, at, true))
      if not at then
        return false
      end
    end
    return not vim.iter(others or {}):any(function(other)
      return text:find(other, 1, true) ~= nil
    end)
  end)
end

--- Presses a key on the last line of the panel that contains the text.
local function press_at(text, key)
  require('agent_lsp.panel').open()
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.cmd('normal! G')
  H.equal(vim.fn.search(text, 'b') > 0, true, text)
  vim.api.nvim_feedkeys(key, 'xt', false)
end

--- Restores the files and the conversation to their state before a prompt.
local function restore_both(n)
  H.choose(n)
  vim.cmd('AgentCheckpoints')
  H.wait('the preview', function()
    return vim.bo.filetype == 'diff'
  end)
  vim.api.nvim_feedkeys('b', 'xt', false)
end

local talk =
  { { text = 'Hello.' }, edit_a('one', 'two'), { text = 'Changed.' }, { text = 'Again.' } }

H.case('the undo of a restore of both brings back the files and the conversation', function()
  H.start({ files = { ['a.txt'] = 'one\n' }, settings = auto, script = talk })
  vim.cmd('AgentPrompt first')
  H.turn()
  vim.cmd('AgentPrompt second')
  H.turn(2)
  shows({ 'second', 'Changed.' })
  restore_both(1)
  local restored, back = 'conversation restored: a.txt', 'conversation brought back: a.txt'
  shows({ 'Hello.', restored }, { 'Changed.' })
  H.equal(H.read(H.dir .. '/a.txt'), 'one\n')
  press_at(restored, 'u')
  shows({ 'Hello.', 'second', 'Changed.', restored, '1 file and the ' .. back })
  H.equal(H.read(H.dir .. '/a.txt'), 'two\n')
  vim.cmd('AgentUndo')
  shows({ 'Hello.', restored, back, restored }, { 'Changed.' })
  H.equal(H.read(H.dir .. '/a.txt'), 'one\n')
  H.matches(H.notices[#H.notices].text, '1 file and the conversation restored; use')
  H.again({ settings = auto, script = { { expect = { lastUser = '^third$' }, text = 'Again.' } } })
  H.choose('first')
  vim.cmd('AgentSessions')
  shows({ 'Hello.', restored, back, restored }, { 'Changed.' })
  press_at(restored, 'u')
  shows({ 'Hello.', 'second', 'Changed.', restored, back, restored, back })
  H.equal(H.read(H.dir .. '/a.txt'), 'two\n')
end)

--- Plays two turns, undoes the edit of the second one, and then restores the conversation alone.
local function restore_conversation()
  H.start({ files = { ['a.txt'] = 'one\n' }, settings = auto, script = talk })
  vim.cmd('AgentPrompt first')
  H.turn()
  vim.cmd('AgentPrompt second')
  H.turn(2)
  vim.cmd('AgentUndo')
  shows({ '1 file restored: a.txt' })
  restore_both(2)
end

H.case('a restore of the conversation that changes no file can be undone', function()
  restore_conversation()
  shows({ 'Hello.', '1 file restored: a.txt', 'conversation restored' }, { 'Changed.' })
  vim.cmd('AgentUndo')
  shows({ 'Changed.', '1 file restored: a.txt', 'conversation restored', 'conversation brought' })
  H.equal(H.read(H.dir .. '/a.txt'), 'one\n')
  local both = { '1 file restored: a.txt', 'conversation restored', 'conversation brought back' }
  H.again({ settings = auto, script = {} })
  H.choose('first')
  vim.cmd('AgentSessions')
  shows({ 'Hello.', 'Changed.', unpack(both) })
  vim.cmd('AgentUndo')
  shows({ 'Hello.', 'conversation restored', 'back', 'conversation restored' }, { 'Changed.' })
  vim.cmd('AgentUndo')
  shows({ 'Hello.', 'Changed.', unpack(both) })
  press_at('1 file restored', 'u')
  shows({ '1 file brought back: a.txt' })
  H.equal(H.read(H.dir .. '/a.txt'), 'two\n')
end)

H.case('after a new prompt, the undo does not remove it with an earlier conversation', function()
  restore_conversation()
  shows({ 'Hello.', 'conversation restored' }, { 'Changed.' })
  vim.cmd('AgentPrompt third')
  H.turn(3)
  vim.cmd('AgentUndo')
  shows({ 'Hello.', 'third', 'Again.', '1 file brought back: a.txt' }, { 'Changed.' })
  H.equal(H.read(H.dir .. '/a.txt'), 'two\n')
end)

H.case('a session that was restored to before its only prompt is listed', function()
  local script = { edit_a('one', 'two'), { text = 'Done.' } }
  H.start({ files = { ['a.txt'] = 'one\n' }, settings = auto, script = script })
  vim.cmd('AgentPrompt change it')
  H.turn()
  shows({ 'Done.' })
  restore_both(1)
  local restored = '1 file and the conversation restored: a.txt'
  shows({ restored }, { 'Done.' })
  H.again({ settings = auto, script = {} })
  H.choose('change it  %(0 messages%)')
  vim.cmd('AgentSessions')
  shows({ restored }, { 'Done.' })
  press_at('conversation restored', 'u')
  shows({ 'change it', 'Done.', 'conversation brought back: a.txt' })
  H.equal(H.read(H.dir .. '/a.txt'), 'two\n')
end)

H.case('a restore adds an entry to the transcript, with a key that undoes it', function()
  local script = { edit_a('one', 'two'), { text = 'Done.' } }
  H.start({ files = { ['a.txt'] = 'one\n' }, settings = auto, script = script })
  vim.cmd('AgentPrompt go')
  H.turn()
  H.wait('the summary', function()
    return H.panel_text():find('U undo all', 1, true)
  end)
  vim.cmd('AgentUndo')
  H.wait('the end of the summary', function()
    return not H.panel_text():find('U undo all', 1, true)
  end)
  H.wait('the entry', function()
    return H.panel_text():find('↶ `1 file restored: a.txt`\n  u  undo this', 1, true)
  end)
  H.equal(H.read(H.dir .. '/a.txt'), 'one\n')
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.fn.search('1 file restored')
  vim.api.nvim_feedkeys('u', 'xt', false)
  H.wait('the entry of the undo', function()
    return H.panel_text():find('↶ `1 file brought back: a.txt`', 1, true)
  end)
  H.equal(H.read(H.dir .. '/a.txt'), 'two\n')
  vim.cmd('AgentUndo')
  H.wait('the third entry', function()
    return select(2, H.panel_text():gsub('1 file restored', '')) == 2
  end)
  vim.cmd('normal! gg')
  vim.api.nvim_feedkeys('u', 'xt', false)
  H.wait('the message', function()
    return H.notices[#H.notices].text:find('no restore to undo here', 1, true)
  end)
end)

H.run()
