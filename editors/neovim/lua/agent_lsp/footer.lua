--- Builds the lines below the transcript. They show the pending requests, the changes and the
--- queue, or instructions for getting started.
local changes = require('agent_lsp.changes')
local config = require('agent_lsp.config')
local failure = require('agent_lsp.failure')
local permission = require('agent_lsp.permission')
local policy = require('agent_lsp.policy')
local program = require('agent_lsp.program')
local render = require('agent_lsp.render')
local setup = require('agent_lsp.setup')
local transcript = require('agent_lsp.transcript')

local M = {}

--- Returns the keys that accept and reject the hunk under the cursor or, without such keys, the
--- commands.
local function deciding()
  local keys = config.options.review.keys
  if keys and keys.accept and keys.reject then
    return keys.accept, keys.reject
  end
  return ':AgentAccept', ':AgentReject'
end

--- Adds a line with the keys that decide all changes.
local function add_change_keys(add, lines, marks, summary)
  local text, spans = '', {}
  for _, k in ipairs(changes.keys(summary)) do
    table.insert(spans, { #text + 1, #text + 1 + #k[1] })
    text = ('%s %s %s '):format(text, k[1], k[2])
  end
  add(text, 'Normal')
  for _, span in ipairs(spans) do
    table.insert(marks, { #lines - 1, span[1], span[2], 'AgentLspKey' })
  end
end

--- Adds the summary of the changes and its keys to the footer.
local function add_changes(state, add, lines, marks)
  local s = changes.summary(state.status == 'idle')
  if s then
    local text = ('%s %s, '):format(s.kind == 'done' and '✓' or '✎', changes.text(s))
    local added, removed = '+' .. s.added, '-' .. s.removed
    add(text .. added .. ' ' .. removed, s.kind == 'done' and 'AgentLspUser' or 'AgentLspWaiting')
    table.insert(marks, { #lines - 1, #text, #text + #added, 'AgentLspAdded' })
    table.insert(marks, { #lines - 1, #text + #added + 1, #lines[#lines], 'AgentLspRemoved' })
    add_change_keys(add, lines, marks, s)
  end
  if s and s.kind ~= 'done' then
    add(' ↵  go to the first change, then use ]h and [h', 'AgentLspMeta', 4)
    add(('    There, %s accepts, %s rejects.'):format(deciding()), 'AgentLspMeta')
  end
  if s and s.kind == 'proposed' and policy.is_offered(transcript.session, state.status) then
    add(' P  apply edits, keep or undo later', 'AgentLspMeta', 2)
  end
  if s and s.kind ~= 'done' then
    add('    ' .. permission.where[1], 'AgentLspMeta')
  end
  local elsewhere = require('agent_lsp.hunks').count() - (s and s.changes or 0)
  if elsewhere > 0 then
    add(('✎ %d more in another folder (:AgentReview)'):format(elsewhere), 'AgentLspMeta')
  end
end

--- Returns the keys that can resolve the last error.
local function helps(state)
  if program.is_missing() then
    return program.actions
  end
  return state.status == 'idle' and failure.actions(state.failure) or {}
end

--- Adds getting-started instructions: the first step, and keys for later.
local function add_beginning(add)
  if setup.is_missing() then
    add('No model provider is configured yet.', 'AgentLspWaiting')
    add(' S  choose a provider (:AgentSetup)', 'Normal', 2)
    add(' D  try the demo, which needs no key (:AgentDemo)', 'Normal', 2)
    add(' q  hide this panel', 'AgentLspMeta', 2)
    return add('    ' .. permission.where[1], 'AgentLspMeta')
  end
  add('Ask for a change, or ask a question.', 'AgentLspUser')
  add(' i  write a prompt (:AgentPrompt)', 'Normal', 2)
  add(' q  hide this panel', 'Normal', 2)
  add('', 'Normal')
  add('Later:', 'AgentLspMeta')
  local accept, reject = deciding()
  for _, later in ipairs({
    { '@', 'adds a file' },
    { accept, 'accepts a hunk' },
    { reject, 'rejects a hunk' },
    { ':AgentReview', 'shows all changes' },
    { ':AgentUndo', 'undoes the last turn' },
    { ':AgentSessions', 'lists your sessions' },
    { ':help agent_lsp', 'opens the manual' },
  }) do
    add((' %-15s  %s'):format(later[1], later[2]), 'AgentLspMeta', 1 + #later[1])
  end
end

--- Adds a permission or question with its choices and the given hints.
---@param entry agent_lsp.Pending
---@param hints string[] descriptions of where the keys work
local function add_request(entry, hints, add, lines, marks)
  local text, command = permission.describe(entry)
  for i, l in ipairs(text) do
    local group = i == 1 and 'AgentLspWaiting' or i <= command and 'AgentLspUser' or 'Normal'
    add((i == 1 and '? ' or '  ') .. l, group)
  end
  local choices, asides = permission.choices(entry)
  for i, o in ipairs(choices) do
    add((' %d  %s'):format(i, o), 'Normal', 2)
    if asides[i] then
      table.insert(marks, { #lines - 1, 4 + asides[i], #lines[#lines], 'AgentLspMeta' })
    end
  end
  if permission.is_multi(entry) then
    add(' ↵  Send the marked choices', 'Normal', 4)
  end
  local is_question = entry.kind == 'question'
  add(is_question and ' a  Write an answer' or ' f  Reject and give a reason', 'Normal', 2)
  for _, line in ipairs(hints) do
    add('    ' .. line, 'AgentLspMeta')
  end
  local more = #permission.list() - 1
  if more > 0 then
    add(('   %d more after this'):format(more), 'AgentLspMeta')
  end
end

--- Returns the number of screen lines that lines take. Long lines wrap at spaces, with an indent.
---@param lines string[]
---@param columns integer
local function height(lines, columns)
  local rows = 0
  for _, line in ipairs(lines) do
    local used = 0
    rows = rows + 1
    for word in line:gmatch('%s*%S+') do
      local width = vim.api.nvim_strwidth(word)
      if used > 0 and used + width > columns then
        rows, used, width = rows + 1, 4, vim.api.nvim_strwidth(vim.trim(word))
      end
      local over = math.max(0, used + width - columns) -- of a word that is wider than the window
      local more = math.ceil(over / math.max(1, columns - 4))
      rows, used = rows + more, more > 0 and columns or used + width
    end
  end
  return rows
end

--- Returns the hints that fit into the window below a request's lines. The keys are more important
--- than the hints, so a small window shows a shorter hint or none. If even the lines do not fit, it
--- returns all hints, because the user has to scroll anyway.
local function fitting_hints(lines)
  local win = transcript.window()
  local room = win and vim.api.nvim_win_get_height(win) - 1 or math.huge -- without the bar
  for _, hints in ipairs({ permission.where, { permission.elsewhere }, {} }) do
    local all = vim.list_slice(lines)
    for _, hint in ipairs(hints) do
      table.insert(all, '    ' .. hint)
    end
    if height(all, transcript.columns()) <= room then
      return hints
    end
  end
  return permission.where
end

--- Returns the content of the footer, with the first permission or question and the queue.
---@param state agent_lsp.PanelState
function M.look(state)
  local lines, marks = {}, {}
  local function add(text, group, key)
    table.insert(lines, text)
    table.insert(marks, { #lines - 1, key or 0, #text, group })
    if key then
      table.insert(marks, { #lines - 1, 0, key, 'AgentLspKey' })
    end
  end
  local entry = permission.list()[1]
  if entry then
    local without = {}
    add_request(entry, {}, function(text)
      table.insert(without, text)
    end, without, {})
    add_request(entry, fitting_hints(without), add, lines, marks)
  end
  add_changes(state, add, lines, marks)
  for _, q in ipairs(state.queue) do
    local words = render.line(render.prompt_text(q.prompt))
    add(('» %s  (%s)'):format(words, render.delivery(q.delivery)), 'AgentLspMeta')
  end
  for _, help in ipairs(helps(state)) do
    add((' %s  %s'):format(help[1], help[2]), 'Normal', 2)
  end
  if state.status == 'idle' and (state.broken or #state.queue > 0) then
    local what = state.failure and 'try again' or 'continue the stopped turn'
    what = #state.queue > 0 and 'send the first queued prompt' or what
    add(' c  ' .. what, state.failure and 'Normal' or 'AgentLspMeta', 2)
  end
  if #lines == 0 and transcript.is_empty() then
    add_beginning(add)
  end
  if #lines > 0 then
    local fence = render.fence(lines)
    table.insert(lines, 1, fence)
    table.insert(lines, fence)
  end
  for _, m in ipairs(marks) do
    m[1] = m[1] + 1
  end
  return { lines = lines, marks = marks }
end

return M
