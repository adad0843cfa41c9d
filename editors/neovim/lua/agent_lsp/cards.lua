--- Builds the transcript's card for a decided edit: its line counts, the user's decision and the
--- diff.
local events = require('agent_lsp.events')

local M = {}

--- The maximum number of diff lines that a card shows.
local max_lines = 60

---@class agent_lsp.Edit what the daemon reported about a proposal
---@field diff? string unified diff of the proposal
---@field changes? agent_lsp.Change[] the decided hunks, if the user changed one of them
---@field proposal agent_lsp.Proposal

---@class agent_lsp.Change a decided hunk
---@field uri string
---@field line integer line in the original file, from zero
---@field oldText string
---@field newText string
---@field state string

local edits = {} ---@type table<string, agent_lsp.Edit> by proposal

--- The proposed text of each hunk and its line in the original file, by the hunk's id.
local proposed = {} ---@type table<string, { text: string, line: integer }>

--- Splits text into lines. A final line break does not add an empty line.
local function lines_of(text)
  local lines = require('agent_lsp.render').lines(type(text) == 'string' and text or '')
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

--- Remembers the proposed text of each of the file's hunks. If the user accepts a hunk with
--- changes, later reports contain the user's text instead.
local function remember(file)
  local shift = 0
  for _, h in ipairs(file.hunks) do
    local known = proposed[h.hunkId]
    if known then
      known.text = h.state == 'pending' and h.newText or known.text
    else
      proposed[h.hunkId] = { text = h.newText, line = h.range.start.line - shift }
      if file.placement == 'applied' then
        shift = shift + #lines_of(h.newText) - #lines_of(h.oldText)
      end
    end
  end
end

--- Returns all hunks of a proposal if the user changed the text of an accepted hunk, otherwise nil.
---@return agent_lsp.Change[]?
---@return integer count number of hunks that the user changed
local function changed_by_user(proposal)
  local out, count = {}, 0
  for _, f in ipairs(proposal.files or {}) do
    for _, h in ipairs(f.hunks) do
      local was = proposed[h.hunkId]
      count = count + (h.state == 'accepted' and h.newText ~= was.text and 1 or 0)
      table.insert(out, {
        uri = f.uri,
        line = was.line,
        oldText = h.oldText,
        newText = h.newText,
        state = h.state,
      })
    end
  end
  return count > 0 and out or nil, count
end

for _, name in ipairs({ 'proposal/created', 'proposal/updated', 'proposal/closed' }) do
  events.on(name, function(p)
    local id = p.proposal.proposalId
    vim.iter(p.proposal.files or {}):each(remember)
    local changes, edited = changed_by_user(p.proposal)
    edits[id] = {
      diff = p.diff or edits[id] and edits[id].diff,
      changes = changes,
      edited = edited,
      proposal = p.proposal,
    }
  end)
end

--- Reports whether an edit's diff is known.
---@param id string the proposal's id
function M.knows(id)
  return edits[id] ~= nil
end

--- Stores a proposal's diff.
---@param res agent_lsp.Edit
function M.learn(res)
  edits[res.proposal.proposalId] = res
end

--- Adds one replacement to a diff, without the equal lines at its beginning and end.
---@param at integer? line in the file at which the replacement begins; without it, there is no heading
---@param to? integer line at which the new text begins; the default is at
---@param note? string text after the line numbers
local function add_change(out, old, new, at, to, note)
  local same, rest = 0, 0
  while same < math.min(#old, #new) and old[same + 1] == new[same + 1] do
    same = same + 1
  end
  while rest < math.min(#old, #new) - same and old[#old - rest] == new[#new - rest] do
    rest = rest + 1
  end
  local gone = vim.list_slice(old, same + 1, #old - rest)
  local come = vim.list_slice(new, same + 1, #new - rest)
  if at then
    local head = ('@@ -%d,%d +%d,%d @@'):format(at + same, #gone, (to or at) + same, #come)
    table.insert(out.lines, (head:gsub(',1 ', ' ')) .. (note and ' ' .. note or ''))
  end
  for sign, list in pairs({ ['-'] = gone, ['+'] = come }) do
    for i, line in ipairs(list) do
      list[i] = sign .. line
    end
  end
  vim.list_extend(vim.list_extend(out.lines, gone), come)
  out.added, out.removed = out.added + #come, out.removed + #gone
end

--- Returns the diff of the decided hunks. If they are in several files, each file's name precedes
--- its hunks.
---@param changes agent_lsp.Change[]
local function decided_diff(changes)
  local out = { lines = {}, added = 0, removed = 0 }
  local last = changes[#changes].uri
  local uri, shift
  for _, c in ipairs(changes) do
    if c.uri ~= uri then
      uri, shift = c.uri, 0
      if changes[1].uri ~= last then
        table.insert(out.lines, vim.fn.fnamemodify(vim.uri_to_fname(uri), ':.'))
      end
    end
    local old, new = lines_of(c.oldText), lines_of(c.newText)
    local note = c.state ~= 'accepted' and c.state or nil
    add_change(out, old, new, c.line + 1, c.line + 1 + shift, note)
    shift = shift + (note and 0 or #new - #old)
  end
  return out
end

--- Builds an edit's diff from the arguments of its tool call, which the session stores.
---@param d agent_lsp.Item
function M.learn_from_call(d)
  local args = type(d.args) == 'table' and d.args or {}
  local out = { lines = {}, added = 0, removed = 0 }
  if d.name == 'write' then
    add_change(out, {}, lines_of(args.content), 1)
  end
  for i, e in ipairs(d.name == 'edit' and (args.edits or { args }) or {}) do
    local at = (d.result or ''):match(('\nedit %d: lines (%%d+)'):format(i))
    if not at and i > 1 then
      table.insert(out.lines, ('@@ edit %d'):format(i)) -- separates it from the edit above
    end
    add_change(out, lines_of(e.old_string), lines_of(e.new_string), tonumber(at))
  end
  if #out.lines > 0 then
    local stat = { files = 1, added = out.added, removed = out.removed }
    local proposal = { proposalId = d.proposalId, stat = stat }
    M.learn({ diff = table.concat(out.lines, '\n'), proposal = proposal })
  end
end

--- Returns the user's first comment, which a call's result quotes for the model.
local function comment_in(result)
  local quoted = (result or ''):match('rejected: (%b"")')
  return quoted and ': ' .. quoted:sub(2, -2)
end

--- Counts a proposal's hunks by state.
local function count_hunks(proposal)
  local count = {}
  for _, f in ipairs(proposal.files) do
    for _, h in ipairs(f.hunks) do
      count[h.state] = (count[h.state] or 0) + 1
    end
  end
  return count.accepted or 0, count.rejected or 0
end

--- Counts the accepted and rejected hunks in a call's result. Hunks that were not accepted count as
--- rejected only if the user has decided all hunks.
local function count_stored(details)
  local accepted, state = details.accepted or 0, details.state
  local decided = state == 'applied' or state == 'partiallyApplied' or state == 'rejected'
  return accepted, decided and (details.hunks or accepted) - accepted or 0
end

local ends = {
  withdrawn = 'withdrawn before you decided',
  superseded = 'replaced by a later change',
  conflict = 'conflicts with your own change',
}

--- Returns the decided hunks if the user changed the text of an accepted hunk, otherwise nil.
---@param d agent_lsp.Item
---@return agent_lsp.Change[]?
local function changes_of(d)
  local edit = edits[d.proposalId]
  local stored = type(d.details) == 'table' and d.details.changes
  return edit and edit.changes or stored or nil
end

--- Reports whether the user changed the edit but the applied text was too large to be stored.
---@param d agent_lsp.Item
local function is_omitted(d)
  return not changes_of(d) and type(d.details) == 'table' and d.details.changesOmitted == true
end

--- Returns the text about the user's own changes to accepted hunks. A loaded session does not say
--- how many hunks the user changed.
local function with_changes(d, accepted)
  local edited = edits[d.proposalId] and edits[d.proposalId].edited
  if accepted == 1 or edited == accepted then
    return ' with your changes'
  end
  return edited and (', %d with your changes'):format(edited) or ', some with your changes'
end

--- Returns the user's decision, for example "1 accepted, 1 rejected: too long". With the policy
--- `auto`, the user does not decide, and the edit is described as applied.
---@param d agent_lsp.Item
---@return string
function M.decision(d)
  local details = type(d.details) == 'table' and d.details or {}
  local known = edits[d.proposalId]
  local live = known and known.proposal.files and known.proposal
  local accepted, rejected = count_stored(details)
  if live then
    accepted, rejected = count_hunks(live)
  end
  local parts = {}
  if accepted > 0 and details.policy == 'auto' then
    table.insert(parts, 'applied')
  elseif accepted > 0 then
    local edited = changes_of(d) or (d.result or ''):find(' changed by the user', 1, true)
    table.insert(parts, accepted .. ' accepted' .. (edited and with_changes(d, accepted) or ''))
  end
  if rejected > 0 then
    table.insert(parts, rejected .. ' rejected' .. (comment_in(d.result) or ''))
  end
  table.insert(parts, ends[live and live.state or details.state])
  return table.concat(parts, ', ')
end

--- Returns the numbers of added and removed lines.
---@param d agent_lsp.Item
---@return string? added
---@return string? removed
function M.counts(d)
  if is_omitted(d) then
    return nil
  end
  local changes = changes_of(d)
  local known = changes and decided_diff(changes)
    or edits[d.proposalId] and edits[d.proposalId].proposal.stat
  if known then
    return '+' .. known.added, '-' .. known.removed
  end
end

local groups = { ['+'] = 'AgentLspAdded', ['-'] = 'AgentLspRemoved', ['@'] = 'AgentLspMeta' }

--- Returns the lines of an edit's diff. If the diff changes a single file, the file's name is
--- omitted.
---@param edit agent_lsp.Edit?
local function proposed_diff(edit)
  local text = vim.trim(edit and edit.diff or '')
  local lines = text ~= '' and require('agent_lsp.render').lines(text) or {}
  local named = vim.startswith(lines[1] or '', '--- ')
    and vim.startswith(lines[2] or '', '+++ ')
    and vim.startswith(lines[3] or '@@', '@@')
  local single = named and edit and edit.proposal.stat.files == 1
  return single and vim.list_slice(lines, 3) or lines
end

--- The text that is shown instead of an edit's diff if the user's changes were too large to be
--- stored.
local omitted = 'The applied text is not shown, because your changes are too large.'

--- Returns the lines of an edit's diff and their highlights. If the user changed a hunk, the diff
--- shows the text that was applied.
---@param d agent_lsp.Item
---@return string[] lines
---@return table<integer, string> groups by line
function M.diff(d)
  if is_omitted(d) then
    return { omitted }, { 'AgentLspMeta' }
  end
  local changes = changes_of(d)
  local lines = changes and decided_diff(changes).lines or proposed_diff(edits[d.proposalId])
  local colors = {}
  local cut = #lines - max_lines
  if cut > 0 then
    lines = vim.list_slice(lines, 1, max_lines)
    table.insert(lines, ('… %d more %s'):format(cut, cut == 1 and 'line' or 'lines'))
  end
  for i, line in ipairs(lines) do
    colors[i] = groups[line:sub(1, 1)] or 'Normal' -- replaces the color that Markdown gives to code
  end
  return lines, colors
end

return M
