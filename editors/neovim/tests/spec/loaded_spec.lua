--- Tests that a session that is opened from the list shows the same content as a live session: the
--- entries for its restores, the summary of its last turn, the key that continues, and its calls in
--- order.
local H = require('harness')

local function edit_a(old, new)
  return H.call('edit', { path = 'a.txt', old_string = old, new_string = new })
end

local function shown(text)
  return H.wait(text, function()
    return H.panel_text():find(text, 1, true)
  end)
end

local function load(title)
  H.choose(title)
  vim.cmd('AgentSessions')
end

H.case('a loaded session keeps the entries of its restores, also in a new Neovim', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    settings = { editPolicy = 'auto' },
    script = { edit_a('one', 'two'), { text = 'First.' }, { text = 'Second.' } },
  })
  vim.cmd('AgentPrompt begin')
  H.turn()
  shown('U undo all')
  vim.cmd('AgentUndo')
  shown('↶ `1 file restored: a.txt`')
  vim.cmd('AgentUndo')
  shown('↶ `1 file brought back: a.txt`')
  vim.cmd('AgentPrompt go on')
  H.turn(2)
  shown('Second.')
  local before = H.panel_text()
  H.again({ script = {} })
  load('begin')
  shown('Second.')
  shown('↶ `1 file brought back: a.txt`')
  shown('+1 -1')
  H.equal(vim.trim(H.panel_text()), vim.trim(before), 'the same in the same order')
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.fn.search('brought back')
  vim.api.nvim_feedkeys('u', 'xt', false)
  H.wait('the file', function()
    return H.read(H.dir .. '/a.txt') == 'one\n'
  end)
  load('begin')
  H.wait('the third entry after the second turn', function()
    return H.panel_text():find('Second%..*1 file restored: a.txt')
  end)
end)

H.case('a loaded session shows the summary of its last turn until the user closes it', function()
  H.start({
    files = { ['a.txt'] = 'one\n' },
    settings = { editPolicy = 'auto' },
    script = { edit_a('one', 'two'), { text = 'Done.' }, { text = 'Other.' } },
  })
  vim.cmd('AgentPrompt begin')
  H.turn()
  shown('✓ 1 file changed, +1 -1')
  vim.cmd('AgentNew')
  H.event('session', nil, 2)
  load('begin')
  shown('Done.')
  shown('✓ 1 file changed, +1 -1')
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.api.nvim_feedkeys('A', 'xt', false)
  H.wait('the end of the summary', function()
    return not H.panel_text():find('1 file changed', 1, true)
  end)
  vim.cmd('AgentNew')
  H.event('session', nil, 4)
  load('begin')
  shown('Done.')
  H.settle()
  H.equal(H.panel_text():find('1 file changed', 1, true), nil)
end)

H.case('a stopped turn can be continued after the session is loaded', function()
  H.start({
    settings = { permissions = { profile = 'trust' }, sandbox = 'off' },
    script = { H.call('bash', { command = 'sleep 300' }) },
  })
  vim.cmd('AgentPrompt begin')
  H.wait('the running tool', function()
    return H.all('item/updated', function(p)
      return p.item.status == 'running'
    end)[1]
  end)
  vim.cmd('AgentAbort')
  H.equal(H.turn().status, 'aborted')
  H.again({ script = { { text = 'Continued.' } } })
  load('begin')
  shown(' c  continue the stopped turn')
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.api.nvim_feedkeys('c', 'xt', false)
  shown('Continued.')
end)

H.case('parallel calls keep the order in which they were called', function()
  local function search(pattern)
    return { name = 'grep', arguments = { pattern = pattern } }
  end
  H.start({
    files = { ['a.txt'] = 'one\n' },
    script = {
      { toolCalls = { search('(a|b|c)*x'), search('o'), search('n') } },
      { text = 'Done.' },
    },
  })
  local function order()
    local out = {}
    for label in H.panel_text():gmatch('✓ `([^\n]*)`') do
      table.insert(out, label)
    end
    return out
  end
  vim.cmd('AgentPrompt begin')
  H.turn()
  shown('Done.')
  local live = order()
  H.equal(#live, 3)
  vim.cmd('AgentNew')
  H.event('session', nil, 2)
  load('begin')
  shown('Done.')
  H.equal(order(), live)
  local items = require('agent_lsp.items')
  items.clear()
  for _, call in ipairs({ { 'c', '10.3' }, { 'a', '10.15' }, { 'b', '10.2' } }) do
    local created = ('2026-01-01T00:00:%sZ'):format(call[2])
    items.take({ itemId = call[1], type = 'toolCall', createdAt = created }, true)
  end
  local ids = vim.tbl_map(function(item)
    return item.id
  end, items.list)
  H.equal(ids, { 'a', 'b', 'c' }, 'told in the order in which they ended')
end)

H.case('sessions of `agent-lsp run` and those without an answer are listed with ! only', function()
  H.start({ script = { { text = 'By the editor.' } } })
  vim.cmd('AgentPrompt from the editor')
  H.turn()
  shown('By the editor.')
  local script = H.dir .. '-run.jsonl'
  H.write(script, vim.json.encode({ text = 'By the command.' }) .. '\n')
  local env = { AGENT_LSP_SCRIPT = script }
  local opts = { cwd = H.dir, env = env, text = true }
  local ended = vim.system({ H.bin, 'run', 'from the command line' }, opts):wait()
  H.equal({ ended.code, ended.stdout }, { 0, 'By the command.\n' })
  H.choose(false, false)
  vim.cmd('AgentSessions')
  H.wait('the list', function()
    return H.asked[1]
  end)
  local want = '^today %d+:%d+ +from the editor  %(2 messages%)  %(this one%)$'
  H.matches(table.concat(H.asked[1].items, '|'), want)
  H.matches(H.asked[1].text, '1 from agent%-lsp run or without an answer')
  vim.cmd('AgentSessions!')
  H.wait('the whole list', function()
    return H.asked[2]
  end)
  H.equal(#H.asked[2].items, 2)
  H.matches(table.concat(H.asked[2].items, '|'), 'from the command line')
end)

H.case('a hundred `agent-lsp run` sessions do not hide earlier sessions', function()
  H.start({ script = { { text = 'Yes.' } } })
  vim.cmd('AgentPrompt mine')
  H.turn()
  local client = require('agent_lsp.client')
  local real, asked = client.request, {}
  local function stored(id, origin)
    local s = { sessionId = id, title = id, messages = 2, status = 'idle', origin = origin }
    return vim.tbl_extend('error', s, { updatedAt = '2026-11-20T08:00:00Z' })
  end
  client.request = function(method, params, fn, ...)
    if method ~= 'agent/session/list' then
      return real(method, params, fn, ...)
    end
    table.insert(asked, params.cursor or 'first')
    if not params.cursor then
      local runs = {}
      for i = 1, 100 do
        table.insert(runs, stored('run' .. i, 'run'))
      end
      return fn(nil, { sessions = runs, nextCursor = 'second' })
    end
    fn(nil, { sessions = { stored("yesterday's", nil) } })
  end
  H.choose(false)
  vim.cmd('AgentSessions')
  H.wait('the list', function()
    return H.asked[1]
  end)
  H.equal(asked, { 'first', 'second' })
  H.equal(#H.asked[1].items, 1)
  H.matches(H.asked[1].items[1], "yesterday's")
  H.matches(
    H.asked[1].text,
    '%(:AgentSessions! also lists 100 from agent%-lsp run or without an answer%)'
  )
end)

H.run()
