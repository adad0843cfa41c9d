--- Tests the card that the panel shows for a decided edit.
local H = require('harness')
local R = require('review')

local function shows(text)
  H.wait(text, function()
    return H.panel_text():find(text, 1, true)
  end)
end

--- Returns the parts of the panel's text that have the given highlight.
local function colored(group)
  local buf = require('agent_lsp.transcript').buf
  local ns = vim.api.nvim_get_namespaces().agent_lsp_panel
  local out = {}
  for _, m in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    if m[4].hl_group == group and m[4].end_row == m[2] then
      local line = vim.api.nvim_buf_get_lines(buf, m[2], m[2] + 1, false)[1]
      table.insert(out, line:sub(m[3] + 1, m[4].end_col))
    end
  end
  return out
end

H.case(
  'a decided edit shows counts, the decision and the diff, and no text for the model',
  function()
    R.edits({ 'two\n', 'TWO\nTWO AGAIN\n', 'nine\n', 'NINE\n' })
    H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(2)
    R.go(2)
    vim.cmd('AgentAccept')
    H.hunks(1)
    R.go(10)
    vim.cmd('AgentReject not this one')
    H.equal(H.turn().status, 'completed')
    shows('✓ `Edit a.txt`  +3 -2  `1 accepted, 1 rejected: not this one`')
    shows('Done.')
    shows('-two\n+TWO\n+TWO AGAIN\n three')
    local text = H.panel_text()
    local for_model = { 'hunks;', 'tier T', 'The proposed text', '--- a.txt', 'old_string', '{"' }
    for _, model_text in ipairs(for_model) do
      H.equal(text:find(model_text, 1, true), nil, model_text)
    end
    local removed = { '-2', '-two', '-nine' }
    local added = { '+3', '+TWO', '+TWO AGAIN', '+NINE' }
    for _, want in ipairs(added) do
      H.equal(vim.list_contains(colored('AgentLspAdded'), want), true, want)
    end
    for _, want in ipairs(removed) do
      H.equal(vim.list_contains(colored('AgentLspRemoved'), want), true, want)
    end
  end
)

H.case('an edit that is rejected as a whole says so', function()
  R.edits({ 'two\n', 'TWO\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentReject! keep it')
  H.equal(H.turn().status, 'completed')
  shows('+1 -1  `1 rejected: keep it`')
  H.equal(H.panel_text():find('applied 0', 1, true), nil)
end)

--- Accepts the first of two hunks with the given lines, and goes to the second one.
---@param lines string[]
local function accept_changed(lines)
  R.edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  R.go(2)
  vim.cmd('AgentEdit')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  vim.cmd('write')
  H.hunks(1)
  R.go(8 + #lines)
end

H.case(
  'the card of an edit that the user changed shows the applied text, also after a resume',
  function()
    accept_changed({ 'Two', 'and more' })
    vim.cmd('AgentReject keep nine')
    H.equal(H.turn().status, 'completed')
    local function shows_applied()
      shows('`Edit a.txt`  +3 -2  `1 accepted with your changes, 1 rejected: keep nine`')
      shows('@@ -2 +2,2 @@\n-two\n+Two\n+and more\n@@ -9 +10 @@ rejected\n-nine\n+NINE\n')
      H.equal(H.panel_text():find('+TWO', 1, true), nil)
    end
    shows_applied()
    H.again({ script = {} })
    H.choose('go')
    vim.cmd('AgentSessions')
    shows_applied()
  end
)

H.case('the card says how many of the accepted hunks the user changed', function()
  accept_changed({ 'Two' })
  vim.cmd('AgentAccept')
  H.equal(H.turn().status, 'completed')
  shows('`2 accepted, 1 with your changes`')
end)

H.case('the card of an applied edit shows each decision that follows', function()
  R.edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' }, { settings = { editPolicy = 'review' } })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.hunks(2)
  shows('✓ `Edit a.txt`  +2 -2\n')
  R.go(9)
  vim.cmd('AgentReject')
  shows('✓ `Edit a.txt`  +2 -2  `1 rejected`\n')
  R.go(2)
  vim.cmd('AgentEdit')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Two' })
  vim.cmd('write')
  shows('+2 -2  `1 accepted with your changes, 1 rejected`\n')
  shows('@@ -2 +2 @@\n-two\n+Two\n@@ -9 +9 @@ rejected\n-nine\n+NINE\n')
end)

H.case('an edit that nobody decided is shown as applied, also after a resume', function()
  R.edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' }, { settings = { editPolicy = 'auto' } })
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  shows('✓ `Edit a.txt`  +2 -2  `applied`\n')
  H.again({ script = {} })
  H.choose('go')
  vim.cmd('AgentSessions')
  shows('✓ `Edit a.txt`  +2 -2  `applied`\n')
end)

H.case('changes that are too large to store are not replaced by the proposed text', function()
  R.edits({ 'two\n', 'TWO\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  R.go(2)
  vim.cmd('AgentEdit')
  local long = vim.fn['repeat']({ ('long'):rep(20) }, 1000)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, long)
  vim.cmd('write')
  H.equal(H.turn().status, 'completed')
  shows('+1000 -1  `1 accepted with your changes`\n')
  H.again({ script = {} })
  H.choose('go')
  vim.cmd('AgentSessions')
  shows('✓ `Edit a.txt`  `1 accepted with your changes`\n')
  shows('The applied text is not shown, because your changes are too large.')
  H.equal(H.panel_text():find('+TWO', 1, true), nil)
end)

H.case('withdrawn hunks are not reported as rejected', function()
  H.start({})
  local cards = require('agent_lsp.cards')
  local details = { state = 'withdrawn', hunks = 2, accepted = 1 }
  H.equal(cards.decision({ details = details }), '1 accepted, withdrawn before you decided')
end)

H.case('context lines of a diff have the normal text color', function()
  H.start({})
  local cards = require('agent_lsp.cards')
  local diff = '@@ -1,2 +1,2 @@\n a\n-b\n+c\n'
  cards.learn({ diff = diff, proposal = { proposalId = 'p', stat = { files = 1 } } })
  local _, colors = cards.diff({ proposalId = 'p' })
  H.equal(colors, { 'AgentLspMeta', 'Normal', 'AgentLspRemoved', 'AgentLspAdded' })
end)

H.case('the diff of a stored call has line numbers only if the result has them', function()
  H.start({})
  local cards = require('agent_lsp.cards')
  local function diff(result, second)
    local edits = { { old_string = 'a\nb\n', new_string = 'a\nc\n' }, second }
    local call = { proposalId = 'p', name = 'edit', args = { edits = edits }, result = result }
    cards.learn_from_call(call)
    return (cards.diff(call))
  end
  H.equal(diff('applied\nedit 1: lines 7-8'), { '@@ -8 +8 @@', '-b', '+c' })
  H.equal(diff('rejected: "no"'), { '-b', '+c' })
  local other = { old_string = '-- d', new_string = '++ e' }
  H.equal(diff('rejected: "no"', other), { '-b', '+c', '@@ edit 2', '--- d', '+++ e' })
end)

H.run()
