--- Tests that :AgentDemo runs the scripted model in the real panel with real hunks, regardless of
--- the user's settings.
local H = require('harness')

H.case(
  'the demo asks before it runs its command, and proposes hunks that the user decides',
  function()
    H.start({ settings = { editPolicy = 'auto', permissions = { profile = 'readOnly' } } })
    local own = H.workspace()
    vim.env.AGENT_LSP_SCRIPT = own .. '/none.jsonl' -- the demo has its own script
    vim.cmd('AgentDemo')
    vim.v.errmsg = '' -- Vim's own syntax file for shell scripts sets it
    local asked = {}
    local function answer_if_asked()
      local permission = require('agent_lsp.permission')
      local entry = permission.list()[1]
      if entry then
        table.insert(asked, entry.params.subject.command)
        permission.answer(1)
      end
    end
    local review = require('agent_lsp.review')
    H.wait('two hunks', function()
      answer_if_asked()
      return review.count() == 2
    end)
    H.equal(asked, { 'sh check.sh' })
    H.equal(vim.fn.expand('%:t'), 'stats.sh')
    H.matches(H.panel_text(), 'The check fails%. Find the cause and fix it%.')
    H.matches(H.panel_text(), 'FAIL  stats%.sh')
  end
)

H.case('the demo applies decisions and answers a later prompt', function()
  H.start({})
  vim.cmd('AgentDemo')
  vim.v.errmsg = '' -- Vim's own syntax file for shell scripts sets it
  local permission, review = require('agent_lsp.permission'), require('agent_lsp.review')
  local function decide()
    if #permission.list() > 0 then
      permission.answer(1)
    end
    if review.count() > 0 then
      vim.cmd('AgentAccept!')
    end
    return #H.all('turn/completed') > 0
  end
  H.wait('the end', decide)
  H.equal(H.turn().status, 'completed')
  local text = table.concat(H.lines(), '\n')
  H.matches(text, 'max=%$1')
  H.matches(text, 'total: ')
  vim.cmd('AgentPrompt and now?')
  H.turn(2)
  require('agent_lsp.transcript').flush()
  H.matches(H.panel_text(), 'a script that can do only this task')
end)

H.case('the sample is identical to that of `agent-lsp demo`', function()
  for _, name in ipairs({ 'stats.sh', 'check.sh', 'model.jsonl' }) do
    local theirs = H.read(vim.env.REPO .. '/internal/cli/sample/' .. name)
    H.equal(H.read(H.plugin .. '/demo/' .. name), theirs, name)
  end
end)

H.run()
