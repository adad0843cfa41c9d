--- The parts of a decided edit call in the transcript: line counts, the decision, the diff.
local events = require('agent_lsp.events')

local M = {}

--- The number of diff lines that a card shows.
local max_lines = 60

---@class agent_lsp.Edit what the daemon reported about a proposal
---@field diff? string unified diff of the proposed text
---@field proposal agent_lsp.Proposal

local edits = {} ---@type table<string, agent_lsp.Edit> by proposal

for _, name in ipairs({ 'proposal/created', 'proposal/updated', 'proposal/closed' }) do
  events.on(name, function(p)
    local id = p.proposal.proposalId
    edits[id] = { diff = p.diff or edits[id] and edits[id].diff, proposal = p.proposal }
  end)
end

--- The user's first comment. The result quotes it for the model.
local function comment_in(result)
  local quoted = (result or ''):match('rejected: (%b"")')
  return quoted and ': ' .. quoted:sub(2, -2)
end

--- The user's decision, for example "1 accepted, 1 rejected: too long".
---@param d agent_lsp.Item
---@return string
function M.decision(d)
  local details = type(d.details) == 'table' and d.details or {}
  local accepted = details.accepted or 0
  local rejected = (details.hunks or accepted) - accepted
  local parts = {}
  if accepted > 0 then
    table.insert(parts, accepted .. ' accepted')
  end
  if rejected > 0 then
    table.insert(parts, rejected .. ' rejected' .. (comment_in(d.result) or ''))
  end
  return table.concat(parts, ', ')
end

--- The counts of lines, as the proposal reports them.
---@param d agent_lsp.Item
---@return string? added
---@return string? removed
function M.counts(d)
  local edit = edits[d.proposalId]
  if edit then
    return '+' .. edit.proposal.stat.added, '-' .. edit.proposal.stat.removed
  end
end

local groups = { ['+'] = 'AgentLspAdded', ['-'] = 'AgentLspRemoved', ['@'] = 'AgentLspMeta' }

--- The lines of the diff with the highlight of each, without the names of a single file.
---@param d agent_lsp.Item
---@return string[] lines
---@return table<integer, string> groups by line
function M.diff(d)
  local edit = edits[d.proposalId]
  local lines, colours = {}, {}
  local text = vim.trim(edit and edit.diff or '')
  if text == '' then
    return lines, colours
  end
  local single = edit.proposal.stat.files == 1
  local in_hunks = false
  for _, line in ipairs(require('agent_lsp.render').lines(text)) do
    in_hunks = in_hunks or vim.startswith(line, '@@')
    if in_hunks or not single then
      table.insert(lines, line)
    end
  end
  local cut = #lines - max_lines
  if cut > 0 then
    lines = vim.list_slice(lines, 1, max_lines)
    table.insert(lines, ('… %d more %s'):format(cut, cut == 1 and 'line' or 'lines'))
  end
  for i, line in ipairs(lines) do
    colours[i] = groups[line:sub(1, 1)]
  end
  return lines, colours
end

return M
