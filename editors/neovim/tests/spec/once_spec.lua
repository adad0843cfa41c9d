--- Tests options for a single prompt, the list of sessions, and the fold of a thought.
local H = require('harness')

local function told(text)
  H.wait(text, function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find(text, 1, true)
    end)
  end)
end

H.case('a model and a thinking level for one prompt do not apply to the next prompt', function()
  H.start({ script = { { text = 'One.' }, { text = 'Two.' } } })
  local sent = {}
  local lsp = require('agent_lsp.lsp')
  local request = lsp.request
  lsp.request = function(c, method, params, ...)
    if method == 'agent/prompt' then
      table.insert(sent, params.options or false)
    end
    return request(c, method, params, ...)
  end
  vim.cmd('AgentOnce thinking=much')
  told('much is not one of off, minimal')
  vim.cmd('AgentOnce color=red')
  told('color=red is not valid; use model=NAME or thinking=LEVEL')
  vim.cmd('AgentOnce model=other thinking=high')
  told('only for the next prompt: other, thinking high')
  require('agent_lsp.panel').open()
  H.matches(require('agent_lsp.input').hint(), 'other, thinking high')
  vim.cmd('AgentPrompt one')
  H.turn()
  vim.cmd('AgentPrompt two')
  H.turn(2)
  H.equal(sent, { { model = 'other', thinking = 'high' }, false })
  H.equal(require('agent_lsp.once').text(), '')
end)

H.case('sessions can be searched, show a message count and are hidden without an answer', function()
  H.start({
    settings = { retry = { maxRetries = 0 } },
    script = { { text = 'About apples.' }, { error = { status = 401, message = 'no' } } },
  })
  vim.cmd('AgentPrompt tell me of apples')
  H.turn()
  vim.cmd('AgentNew')
  H.event('session', nil, 2)
  vim.cmd('AgentPrompt hi')
  H.turn(2)
  vim.cmd('AgentNew')
  H.event('session', nil, 3)
  local function list(command, n)
    vim.cmd(command)
    H.wait('the list', function()
      return #H.asked == n
    end)
    return H.asked[n]
  end
  local some = list('AgentSessions', 1)
  H.matches(table.concat(some.items, '|'), '%d+:%d+ +tell me of apples  %(2 messages%)')
  H.equal(table.concat(some.items, '|'):find('  hi  ', 1, true), nil)
  H.matches(some.text, '%(:AgentSessions! also lists 1 from agent%-lsp run or without an answer%)')
  H.matches(table.concat(list('AgentSessions!', 2).items, '|'), '  hi  %(1 message%)')
  local found = list('AgentSessions apples', 3)
  H.equal({ #found.items, found.text }, { 1, 'Session to resume' })
  -- Only the answer of this session contains the word.
  H.equal(#list('AgentSessions About', 4).items, 1)
  vim.cmd('AgentSessions rename pears')
  told('no sessions with pears')
end)

H.case('an entry of the list of sessions fits into one line', function()
  local day = os.date('!%Y-%m-%dT%H:%M:%SZ')
  local session = { sessionId = 's', title = ('word '):rep(40), messages = 12, status = 'idle' }
  session.updatedAt = day
  local entry = require('agent_lsp.sessions').entry(session, 's')
  H.equal(vim.api.nvim_strwidth(entry) <= vim.o.columns - 5, true, entry)
  H.matches(entry, 'word ?…  %(12 messages%)  %(this one%)$')
end)

H.case('a folded thought shows its first words', function()
  local words = require('agent_lsp.folds').first_words
  H.equal(words('**Total** adds each price', 40), 'Total adds each price')
  H.equal(words('Total adds each price once, and shipping', 24), 'Total adds each price …')
  H.equal(words('', 24), 'thought')
end)

H.run()
