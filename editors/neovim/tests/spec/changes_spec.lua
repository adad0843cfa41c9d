--- Tests the summary above the input, which shows the pending changes or those from the last turn.
local H = require('harness')
local R = require('review')

local function press(key)
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.api.nvim_feedkeys(key, 'xm', false)
end

local function shows(text)
  H.wait(text, function()
    return H.panel_text():find(text, 1, true)
  end)
end

local function two_files(opts)
  return H.start(vim.tbl_extend('force', {
    files = { ['a.txt'] = R.ten, ['b.txt'] = R.ten },
    settings = { editPolicy = 'collect' },
    script = {
      H.call('edit', {
        path = 'a.txt',
        edits = {
          { old_string = 'two\n', new_string = 'TWO\nTWO AGAIN\n' },
          { old_string = 'nine\n', new_string = '' },
        },
      }),
      H.call('edit', { path = 'b.txt', old_string = 'five', new_string = 'FIVE' }),
      { text = 'Done.' },
    },
  }, opts or {}))
end

H.case('pending changes are counted, and one key accepts or rejects them all', function()
  for key, want in pairs({ A = 'FIVE', U = 'five' }) do
    two_files()
    local buf = H.edit('b.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(3)
    H.equal(H.turn().status, 'completed')
    shows('3 changes in 2 files, +3 -3')
    shows('A accept all  U reject all  R review')
    press(key)
    H.hunks(0)
    H.wait('the decision', function()
      return H.lines(buf)[5] == want
    end)
  end
end)

H.case('edits of one reply in several files wait together, and one key accepts them all', function()
  local calls = {}
  for _, name in ipairs({ 'read', 'edit' }) do
    for _, path in ipairs({ 'a.txt', 'b.txt' }) do
      local arguments = { path = path, old_string = 'two', new_string = 'TWO' }
      arguments = name == 'edit' and arguments or { path = path }
      table.insert(calls, { name = name, arguments = arguments })
    end
  end
  H.start({
    files = { ['a.txt'] = 'two\n', ['b.txt'] = 'two\n' },
    script = { { toolCalls = calls }, { text = 'Done.' } },
  })
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  H.equal(H.all('turn/completed'), {}, 'the reply waits for the user')
  shows('2 changes in 2 files, +2 -2')
  press('A')
  H.equal(H.turn().status, 'completed')
  for _, path in ipairs({ 'a.txt', 'b.txt' }) do
    H.equal(H.read(H.dir .. '/' .. path), 'TWO\n')
  end
end)

H.case('R reviews the pending changes', function()
  two_files()
  H.edit('b.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(3)
  shows('3 changes in 2 files')
  press('R')
  H.equal(vim.bo.filetype, 'agent_lsp_review')
end)

--- Runs a turn and accepts its edit while the turn is running.
local function done()
  R.edits({ 'two\n', 'TWO\nTWO AGAIN\n' })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  shows('1 file changed, +2 -1')
  shows('A keep all  U undo all  R review')
  return buf
end

H.case('after a turn one key undoes its changes', function()
  local buf = done()
  press('U')
  H.wait('the text as it was', function()
    return H.lines(buf)[2] == 'two'
  end)
  H.wait('the summary to go', function()
    return not H.panel_text():find('file changed', 1, true)
  end)
end)

H.case('after a turn R shows its diff, and A keeps the changes and hides the summary', function()
  local buf = done()
  press('R')
  H.wait('the diff', function()
    return vim.bo.filetype == 'diff'
  end)
  local text = table.concat(H.lines(), '\n')
  H.matches(text, '%-two')
  H.matches(text, '%+TWO AGAIN')
  vim.api.nvim_feedkeys('q', 'xm', false)
  press('A')
  H.wait('the summary to go', function()
    return not H.panel_text():find('file changed', 1, true)
  end)
  H.equal(H.lines(buf)[2], 'TWO')
  press('A')
  H.wait('a notice', function()
    return #H.notices > 0
  end)
  H.matches(H.notices[#H.notices].text, 'no pending changes')
end)

H.case('the next turn hides the summary', function()
  local call = H.call('edit', { path = 'a.txt', old_string = 'two', new_string = 'TWO' })
  R.edits({}, { script = { call, { text = 'Done.' }, { text = 'Nothing to change.' } } })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  shows('1 file changed, +1 -1')
  vim.cmd('AgentPrompt more')
  H.equal(H.turn(2).status, 'completed')
  shows('Nothing to change.')
  H.settle()
  H.equal(H.panel_text():find('file changed', 1, true), nil)
end)

H.run()
