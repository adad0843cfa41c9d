--- Tests settings that the user chooses in a picker, for the current session or as the default for
--- new sessions.
local H = require('harness')

local function edits(n)
  local replies = {}
  for i = 1, n do
    local change = { old_string = 'line ' .. i, new_string = 'LINE ' .. i }
    table.insert(replies, H.call('edit', vim.tbl_extend('error', change, { path = 'a.txt' })))
    table.insert(replies, { text = 'Done.' })
  end
  return replies
end

local files = { ['a.txt'] = 'line 1\nline 2\nline 3\n' }

local function effective()
  local session = require('agent_lsp.client').workspace().session
  local params = { sessionId = session, config = vim.empty_dict() }
  return H.request('agent/session/configure', params).config
end

local function policy()
  return effective().editPolicy
end

local function footer()
  require('agent_lsp.transcript').flush()
  return H.panel_text()
end

local function told(text)
  H.wait('the message', function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find(text, 1, true)
    end)
  end)
end

H.case(
  'the first edit offers another policy, which as the default also applies to new sessions',
  function()
    H.start({ files = files, script = edits(1) })
    H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(1)
    H.wait('the offer', function()
      return footer():find('P  apply edits, keep or undo later', 1, true)
    end)
    H.choose('^Apply edits; keep', 'Make this my default')
    vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
    vim.api.nvim_feedkeys('P', 'xt', false)
    told('in this session and in new sessions')
    H.matches(H.asked[1].items[1], '%(now%)', 'the policy in effect is marked')
    H.equal(policy(), 'review')
    H.equal(footer():find('P  apply', 1, true), nil, 'it is offered again')
    vim.cmd('AgentAccept!')
    H.turn()
    vim.cmd('AgentNew')
    H.wait('another session', function()
      return #H.all('session') > 1
    end)
    H.equal(policy(), 'review')
    H.again({ script = edits(1) })
    vim.cmd('AgentNew')
    H.event('session')
    H.equal(policy(), 'review', 'after a restart')
  end
)

H.case('a policy chosen for one session does not apply to new sessions', function()
  H.start({ files = files, script = edits(1) })
  vim.cmd('AgentNew')
  H.event('session')
  H.choose('^Apply edits without', 'Only in this session')
  vim.cmd('AgentEdits')
  told('in this session')
  H.equal(policy(), 'auto')
  vim.cmd('AgentNew')
  H.event('session', nil, 2)
  H.equal(policy() or 'ask', 'ask')
  vim.cmd('AgentEdits sometimes')
  told('sometimes is not one of ask, review, collect, auto')
end)

H.case('a policy set by setup() remains the default', function()
  H.start({ files = files, settings = { editPolicy = 'collect' } })
  vim.cmd('AgentNew')
  H.event('session')
  vim.cmd('AgentEdits! review')
  told('setup() sets the default')
  H.equal(policy(), 'review')
  vim.cmd('AgentNew')
  H.event('session', nil, 2)
  H.equal(policy(), 'collect')
end)

H.case('the list of models marks the current one and shows window, price and abilities', function()
  local models = require('agent_lsp.models')
  local m = { id = 'big', provider = 'acme', contextWindow = 200000 }
  m.cost = { input = 3, output = 15.5 }
  H.equal(models.entry(m, 'big'), '● big  (200k tokens, $3 in and $15.50 out per million tokens)')
  H.equal(models.entry(m, 'acme/big'), models.entry(m, 'big'))
  local here = { id = 'local', provider = 'x', contextWindow = 1048576 }
  H.equal(models.entry(here, 'big'), '  local  (1M tokens)')
  H.equal(models.entry({ id = 'bare', provider = 'x' }), '  bare')
  local can = { id = 'c', provider = 'x', tools = true, vision = true, thinking = { 'low' } }
  H.equal(models.entry(can), '  c  (tools, images, thinking)')
  H.equal(models.entry({ id = 'c', provider = 'x', tools = false }), '  c  (no tools)')
end)

H.case('the model can be made the default', function()
  H.start({ settings = {} })
  vim.cmd('AgentNew')
  H.event('session')
  vim.cmd('AgentModel! other-model')
  told('the model is now other-model, in this session and in new sessions')
  vim.cmd('AgentNew')
  H.event('session', nil, 2)
  H.equal(effective().model, 'other-model')
end)

H.run()
