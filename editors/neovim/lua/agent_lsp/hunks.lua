--- Stores the pending proposals that the daemons report. This module does not draw or decide hunks.
local client = require('agent_lsp.client')
local events = require('agent_lsp.events')

local diff = vim.text and vim.text.diff or vim.diff

local M = {}

---@class agent_lsp.Waiting a pending hunk with its file and proposal
---@field proposal agent_lsp.Proposal
---@field file agent_lsp.ProposalFile
---@field hunk agent_lsp.Hunk

local proposals = {} ---@type table<string, agent_lsp.Proposal>
local owners = {} ---@type table<string, integer> client by proposal
local order = {} ---@type string[]
local count = 0

--- Reports whether a hunk waits for a decision. A stale hunk also waits, because the user can
--- reject it.
function M.is_pending(h)
  return h.state == 'pending' or h.state == 'stale'
end

--- Returns the lines of a hunk's text without their line endings.
---@param text string
---@return string[]
function M.split(text)
  local lines = vim.split(text, '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  for i, line in ipairs(lines) do
    if line:byte(-1) == 13 then
      lines[i] = line:sub(1, -2)
    end
  end
  return lines
end

--- Caches the line counts of each hunk, because the summary is drawn often and a diff takes time.
local counted = setmetatable({}, { __mode = 'k' })

--- Returns how many lines a hunk adds and removes.
---@param h agent_lsp.Hunk
---@return integer added
---@return integer removed
function M.line_counts(h)
  local known = counted[h]
  if not known then
    known = { 0, 0 }
    for _, c in ipairs(diff(h.oldText, h.newText, { result_type = 'indices' })) do
      known = { known[1] + c[4], known[2] + c[2] }
    end
    counted[h] = known
  end
  return known[1], known[2]
end

--- Returns the current location of a proposal's file. If the file was renamed, this is its new
--- name.
---@param f agent_lsp.ProposalFile
---@return string uri
function M.uri(f)
  return f.op == 'rename' and f.placement == 'applied' and f.newUri or f.uri
end

--- Returns all proposals that wait for a decision, oldest first.
---@return agent_lsp.Proposal[]
function M.proposals()
  return vim.tbl_map(function(id)
    return proposals[id]
  end, order)
end

---@param id string
---@return agent_lsp.Proposal?
function M.get(id)
  return proposals[id]
end

--- Returns the workspace whose daemon made a proposal.
---@param p agent_lsp.Proposal
---@return agent_lsp.Workspace?
function M.workspace(p)
  return owners[p.proposalId] and client.by_id(owners[p.proposalId])
end

--- Returns how many hunks wait for a decision.
function M.count()
  return count
end

--- Returns the pending hunks in the order of proposals, files and lines.
---@param uri? string restricts the hunks to this file
---@return agent_lsp.Waiting[]
function M.pending(uri)
  local out = {}
  for _, id in ipairs(order) do
    for _, f in ipairs(proposals[id].files) do
      for _, h in ipairs((not uri or M.uri(f) == uri) and f.hunks or {}) do
        if M.is_pending(h) then
          table.insert(out, { proposal = proposals[id], file = f, hunk = h })
        end
      end
    end
  end
  return out
end

--- Returns the files with pending hunks, without duplicates, sorted by path.
---@return string[]
function M.uris()
  local seen, out = {}, {}
  for _, w in ipairs(M.pending()) do
    local uri = M.uri(w.file)
    if not seen[uri] then
      seen[uri] = true
      table.insert(out, uri)
    end
  end
  table.sort(out)
  return out
end

local function changed(uris)
  count = #M.pending()
  events.emit('review', { count = count, uris = uris })
end

local function uris_of(p)
  return vim.tbl_map(M.uri, p.files)
end

--- Returns the files in the current and previous report of a proposal, because a file may have been
--- renamed in between.
local function uris_of_both(p)
  local out = uris_of(p)
  for _, uri in ipairs(proposals[p.proposalId] and uris_of(proposals[p.proposalId]) or {}) do
    if not vim.list_contains(out, uri) then
      table.insert(out, uri)
    end
  end
  return out
end

local function drop(id)
  proposals[id], owners[id] = nil, nil
  order = vim.tbl_filter(function(other)
    return other ~= id
  end, order)
end

--- Stores the current state of a proposal, or drops it if it has no pending hunks.
---@param p agent_lsp.Proposal
---@param client_id? integer
function M.take(p, client_id)
  local uris = uris_of_both(p)
  local waits = vim.iter(p.files):any(function(f)
    return vim.iter(f.hunks):any(M.is_pending)
  end)
  if not waits then
    drop(p.proposalId)
  else
    if not proposals[p.proposalId] then
      table.insert(order, p.proposalId)
    end
    proposals[p.proposalId] = p
    owners[p.proposalId] = client_id or owners[p.proposalId]
  end
  changed(uris)
end

for _, name in ipairs({ 'proposal/created', 'proposal/updated' }) do
  events.on(name, function(params)
    M.take(params.proposal, params.client_id)
  end)
end

events.on('proposal/closed', function(params)
  local uris = uris_of_both(params.proposal)
  drop(params.proposal.proposalId)
  changed(uris)
end)

--- Drops the proposals of a daemon that ended. Its successor reports those that are still pending.
events.on('exit', function(params)
  local uris = {}
  for id, owner in pairs(owners) do
    if owner == params.client_id then
      vim.list_extend(uris, uris_of(proposals[id]))
      drop(id)
    end
  end
  changed(uris)
end)

--- Counts the pending hunks of a workspace's session whose text is not in the buffer yet. Stopping
--- or steering the turn would discard them.
---@param ws agent_lsp.Workspace
function M.undecided(ws)
  local found = 0
  for _, w in ipairs(M.pending()) do
    local own = M.workspace(w.proposal) == ws and w.proposal.sessionId == ws.session
    if own and w.file.placement ~= 'applied' then
      found = found + 1
    end
  end
  return found
end

return M
