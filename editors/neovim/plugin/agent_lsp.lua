-- Registers the commands and the <Plug> mappings. Their first use loads the rest of the plugin.
if vim.g.loaded_agent_lsp then
  return
end
vim.g.loaded_agent_lsp = 1

--- The commands by name: the function in agent_lsp.commands, the nargs, range and bang options, and
--- the description.
local commands = {
  AgentPrompt = {
    'prompt',
    nargs = '*',
    range = true,
    desc = 'Send a prompt to the agent. With a range, the prompt is about the selected lines',
  },
  AgentSteer = { 'steer', nargs = '*', desc = 'Steer the running turn' },
  AgentQueue = {
    'queue',
    nargs = '*',
    desc = 'Queue a prompt for after the turn, or show the queue',
  },
  AgentAbort = { 'abort', desc = 'Stop the running turn' },
  AgentAnswer = { 'answer', desc = "Open the agent's question" },
  AgentToggle = { 'toggle', desc = 'Show or hide the panel' },
  AgentNew = { 'new', nargs = '*', desc = 'Start a new session' },
  AgentSessions = { 'sessions', nargs = '*', bang = true, desc = 'List sessions, or act on one' },
  AgentReview = { 'review', nargs = '?', desc = 'Show all pending hunks' },
  AgentAccept = {
    'accept',
    bang = true,
    range = true,
    nargs = '*',
    desc = 'Accept the hunk under the cursor or in the range (! = all)',
  },
  AgentReject = {
    'reject',
    bang = true,
    range = true,
    nargs = '*',
    desc = 'Reject the hunk under the cursor or in the range (! = all), with a comment',
  },
  AgentEdit = { 'edit_hunk', desc = 'Edit the hunk under the cursor, then accept it' },
  AgentDiff = { 'diff', desc = 'Show the base and the editable proposal side by side' },
  AgentFix = { 'fix', nargs = '*', desc = 'Fix the diagnostic at the cursor' },
  AgentUndo = { 'undo', desc = "Undo the agent's changes from its last turn" },
  AgentCheckpoints = { 'checkpoints', desc = 'List checkpoints and restore one' },
  AgentEdits = { 'edits', nargs = '?', bang = true, desc = 'Choose the edit policy' },
  AgentModel = { 'model', nargs = '?', bang = true, desc = 'Choose the model' },
  AgentOnce = {
    'once',
    nargs = '*',
    desc = 'Set the model or thinking level for the next prompt only',
  },
  AgentSetup = { 'setup', desc = 'Choose a provider, enter its key, choose a model' },
  AgentDemo = { 'demo', desc = 'Show the agent at work on a sample project, without a model' },
  AgentCompact = { 'compact', nargs = '*', desc = 'Compact the context' },
  AgentLog = { 'log', desc = 'Open the log' },
}

for name, spec in pairs(commands) do
  vim.api.nvim_create_user_command(name, function(opts)
    require('agent_lsp.commands')[spec[1]](opts)
  end, {
    nargs = spec.nargs or 0,
    range = spec.range,
    bang = spec.bang,
    bar = spec.nargs ~= '*', -- another command may follow, unless the argument is free text
    desc = spec.desc,
    complete = spec.nargs and function(lead, line)
      return require('agent_lsp.commands').complete(spec[1], lead, line)
    end or nil,
  })
end

for lhs, fn in pairs({
  ['<Plug>(agent-lsp-accept)'] = 'accept',
  ['<Plug>(agent-lsp-reject)'] = 'reject',
  ['<Plug>(agent-lsp-next)'] = 'next_hunk',
  ['<Plug>(agent-lsp-previous)'] = 'previous_hunk',
  ['<Plug>(agent-lsp-edit)'] = 'edit_hunk',
  ['<Plug>(agent-lsp-comment)'] = 'comment',
  ['<Plug>(agent-lsp-toggle)'] = 'toggle',
  ['<Plug>(agent-lsp-abort)'] = 'abort',
  ['<Plug>(agent-lsp-answer)'] = 'answer',
}) do
  vim.keymap.set('n', lhs, function()
    require('agent_lsp.commands')[fn]({ args = '', bang = false, range = 0 })
  end)
end
