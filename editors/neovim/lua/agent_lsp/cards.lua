--- Builds the parts of a decided edit call in the transcript: line counts, the decision and the
--- diff.
local events = require('agent_lsp.events')

local M = {}

--- The number of diff lines that a card shows.
local max_lines = 60

---@class agent_lsp.Edit what the daemon reported about a proposal
---@field diff? string unified diff of the proposal
---@field proposal agent_lsp.Proposal

local edits = {} ---@type table<string, agent_lsp.Edit> by proposal

for _, name in ipairs({ 'proposal/created', 'proposal/updated', 'proposal/closed' }) do
  events.on(name, function(p)
    local id = p.proposal.proposalId
    edits[id] = { diff = p.diff or edits[id] and edits[id].diff, proposal = p.proposal }
  end)
end

--- Reports whether an edit's diff is known.
---@param id string of the proposal
function M.knows(id)
  return edits[id] ~= nil
end

--- Stores a proposal's diff.
---@param res agent_lsp.Edit
function M.learn(res)
  edits[res.proposal.proposalId] = res
end

--- Returns the lines of a text, without the empty line after a final line break.
local function lines_of(text)
  local lines = require('agent_lsp.render').lines(type(text) == 'string' and text or '')
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

--- Adds the change from one replacement, from the first differing line to the last.
---@param at integer? line of the file at which the texts begin, if it is known
local function add_change(out, old, new, at)
  local same, rest = 0, 0
  while same < math.min(#old, #new) and old[same + 1] == new[same + 1] do
    same = same + 1
  end
  while rest < math.min(#old, #new) - same and old[#old - rest] == new[#new - rest] do
    rest = rest + 1
  end
  local gone = vim.list_slice(old, same + 1, #old - rest)
  local come = vim.list_slice(new, same + 1, #new - rest)
  local first = at and at + same
  local head = at and ('@@ -%d,%d +%d,%d @@'):format(first, #gone, first, #come) or '@@ @@'
  table.insert(out.lines, (head:gsub(',1 ', ' ')))
  for sign, list in pairs({ ['-'] = gone, ['+'] = come }) do
    for i, line in ipairs(list) do
      list[i] = sign .. line
    end
  end
  vim.list_extend(vim.list_extend(out.lines, gone), come)
  out.added, out.removed = out.added + #come, out.removed + #gone
end

--- Takes an edit's diff from the arguments of its call, which the session stores.
---@param d agent_lsp.Item
function M.learn_from_call(d)
  local args = type(d.args) == 'table' and d.args or {}
  local out = { lines = {}, added = 0, removed = 0 }
  if d.name == 'write' then
    add_change(out, {}, lines_of(args.content), 1)
  end
  for i, e in ipairs(d.name == 'edit' and (args.edits or { args }) or {}) do
    local at = (d.result or ''):match(('\nedit %d: lines (%%d+)'):format(i))
    add_change(out, lines_of(e.old_string), lines_of(e.new_string), tonumber(at))
  end
  if #out.lines > 0 then
    local stat = { files = 1, added = out.added, removed = out.removed }
    local proposal = { proposalId = d.proposalId, stat = stat }
    M.learn({ diff = table.concat(out.lines, '\n'), proposal = proposal })
  end
end

--- Returns the user's first comment. The result quotes it for the model.
local function comment_in(result)
  local quoted = (result or ''):match('rejected: (%b"")')
  return quoted and ': ' .. quoted:sub(2, -2)
end

--- Returns the user's decision, for example "1 accepted, 1 rejected: too long".
---@param d agent_lsp.Item
---@return string
function M.decision(d)
  local details = type(d.details) == 'table' and d.details or {}
  local accepted = details.accepted or 0
  local rejected = (details.hunks or accepted) - accepted
  local parts = {}
  if accepted > 0 then
    local edited = (d.result or ''):find(' changed by the user', 1, true)
    table.insert(parts, accepted .. ' accepted' .. (edited and ' with your changes' or ''))
  end
  if rejected > 0 then
    table.insert(parts, rejected .. ' rejected' .. (comment_in(d.result) or ''))
  end
  return table.concat(parts, ', ')
end

--- Returns the line counts that the proposal reports.
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

--- Returns the lines of the diff with their highlights. The diff of a single file has no file
--- names.
---@param d agent_lsp.Item
---@return string[] lines
---@return table<integer, string> groups by line
function M.diff(d)
  local edit = edits[d.proposalId]
  local lines, colors = {}, {}
  local text = vim.trim(edit and edit.diff or '')
  if text == '' then
    return lines, colors
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
    colors[i] = groups[line:sub(1, 1)] or 'Normal' -- replaces the color of code in Markdown
  end
  return lines, colors
end

return M
