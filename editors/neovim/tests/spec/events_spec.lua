--- Tests that each autocommand in the help file fires with its documented data, and that no other
--- autocommand fires.
local H = require('harness')

local help = H.read(H.plugin .. '/doc/agent_lsp.txt')

--- The documented fields of each event's data. The value is true if the field is always present.
local documented = {}
local event
for _, line in ipairs(vim.split(help:match('%*agent_lsp%-events%*(.-)\n>\n'), '\n')) do
  event = line:match('^AgentLsp%a+') or line:match('^   ') and event
  documented[event or ''] = event and documented[event] or {}
  for field, optional in line:gmatch('`([%a_]+)`(%??)') do
    documented[event or ''][field] = optional == ''
  end
end
documented[''] = nil

local fired = {} ---@type table<string, table[]>

local function listen()
  vim.api.nvim_create_autocmd('User', {
    pattern = 'AgentLsp*',
    callback = function(args)
      fired[args.match] = fired[args.match] or {}
      table.insert(fired[args.match], args.data)
    end,
  })
end

local function wait_fired(name, n)
  return H.wait(name, function()
    return fired[name] and fired[name][n or 1]
  end)
end

--- Runs a turn with thoughts, text and tools, and with two hunks that are decided one after the
--- other.
local function turn_with_hunks()
  local list = {
    { old_string = 'two\n', new_string = 'TWO\n' },
    { old_string = 'nine\n', new_string = 'NINE\n' },
  }
  H.start({
    files = { ['a.txt'] = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n' },
    settings = { sandbox = 'off', context = { window = 64000 } },
    script = {
      { error = { status = 529, message = 'busy', retryAfter = 0 } },
      H.call('edit', { path = 'a.txt', edits = list }, { reasoning = 'I look.' }),
      { text = 'Done.' },
      H.call('bash', { command = 'touch made' }),
      { text = ('word '):rep(4000) },
      { text = 'And again.' },
      { text = 'A summary.' },
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  vim.cmd('2AgentAccept')
  H.hunks(1)
  vim.cmd('AgentReject!')
  H.equal(H.turn().status, 'completed')
end

--- Runs a turn and aborts it while a permission question is pending.
local function aborted_permission()
  vim.cmd('AgentPrompt make it')
  H.wait('the permission', function()
    return #require('agent_lsp.permission').list() == 1
  end)
  vim.cmd('AgentAbort')
  H.equal(H.turn(2).status, 'aborted')
  wait_fired('AgentLspRequestResolved')
end

local function compaction()
  vim.cmd('AgentNew On words')
  vim.cmd('AgentPrompt tell me more')
  H.turn(3)
  local said = vim.iter(fired.AgentLspItemCompleted):rfind(function(data)
    return data.item.type == 'userMessage'
  end)
  H.request('agent/session/update', { sessionId = said.sessionId, pin = { said.item.itemId } })
  vim.cmd('AgentPrompt and more')
  H.turn(4)
  vim.cmd('AgentCompact')
  wait_fired('AgentLspCompaction')
end

local function crash()
  require('agent_lsp.client').request('agent/status', {}, function(_, res)
    vim.uv.kill(res.pid, 'sigkill')
  end)
  wait_fired('AgentLspExit')
  wait_fired('AgentLspReady', 2)
end

H.case('every documented event fires with its data, and no other event fires', function()
  H.equal(vim.tbl_count(documented) > 10, true, 'the list in the help file')
  listen()
  turn_with_hunks()
  aborted_permission()
  compaction()
  crash()
  for name, all in pairs(fired) do
    H.equal(documented[name] ~= nil, true, name .. ' is not in the help file')
    for _, data in ipairs(all) do
      H.equal(type(data), 'table', name)
    end
  end
  for name, fields in pairs(documented) do
    H.equal(fired[name] ~= nil, true, name .. ' is in the help file, and was never fired')
    for field, always in pairs(fields) do
      local having = vim.tbl_filter(function(data)
        return data[field] ~= nil
      end, fired[name])
      H.equal(
        always and #having == #fired[name] or not always and #having > 0,
        true,
        ('%s: %s is not in its data: %s'):format(name, field, vim.inspect(fired[name]):sub(1, 800))
      )
    end
  end
end)

H.run()
