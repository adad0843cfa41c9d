--- Builds the summary above the input, which shows the pending changes or, if there are none, the
--- changes from the last turn. The summary also names the keys that keep, undo and show all
--- changes.
local client = require('agent_lsp.client')
local events = require('agent_lsp.events')
local hunks = require('agent_lsp.hunks')
local log = require('agent_lsp.log')
local transcript = require('agent_lsp.transcript')

local M = {}

---@class agent_lsp.Changes
---@field kind 'proposed'|'applied'|'done' pending, pending in the buffer, or from the last turn
---@field changes integer number of pending hunks
---@field files integer
---@field added integer lines
---@field removed integer lines

local last ---@type { checkpoint: agent_lsp.Checkpoint, workspace: agent_lsp.Workspace }?

--- Reports whether a pending hunk belongs to the workspace that the panel shows.
local function is_shown(w)
  local ws = hunks.workspace(w.proposal)
  return not ws or ws == client.current()
end

local function of_pending(list)
  local out = { kind = 'applied', changes = #list, files = 0, added = 0, removed = 0 }
  local seen = {}
  for _, w in ipairs(list) do
    local uri = hunks.uri(w.file)
    out.files = seen[uri] and out.files or out.files + 1
    seen[uri] = true
    out.kind = w.file.placement == 'applied' and out.kind or 'proposed'
    local added, removed = hunks.line_counts(w.hunk)
    out.added, out.removed = out.added + added, out.removed + removed
  end
  return out
end

--- Returns the summary, or nil if there is nothing to show.
---@param idle boolean whether no turn is running
---@return agent_lsp.Changes?
function M.summary(idle)
  local list = vim.tbl_filter(is_shown, hunks.pending())
  if #list > 0 then
    return of_pending(list)
  end
  if idle and last then
    local stat = last.checkpoint.stat
    local counts = { files = stat.files, added = stat.added, removed = stat.removed }
    return vim.tbl_extend('force', { kind = 'done', changes = 0 }, counts)
  end
end

local function count(n, what)
  return ('%d %s%s'):format(n, what, n == 1 and '' or 's')
end

--- Returns a summary's text without the line counts.
---@param s agent_lsp.Changes
function M.text(s)
  local files = count(s.files, 'file')
  if s.kind == 'done' then
    return files .. ' changed'
  end
  return ('%s in %s'):format(count(s.changes, 'change'), files)
end

--- Returns the panel's keys for the changes in a summary, and their actions.
---@param s agent_lsp.Changes
---@return { [1]: string, [2]: string }[]
function M.keys(s)
  if s.kind == 'proposed' then
    return { { 'A', 'accept all' }, { 'U', 'reject all' }, { 'R', 'review' } }
  end
  return { { 'A', 'keep all' }, { 'U', 'undo all' }, { 'R', 'review' } }
end

local kept = {} ---@type table<string, boolean> checkpoints whose summary the user has closed

local function forget()
  if last then
    kept[last.checkpoint.checkpointId] = true
    last = nil
    transcript.touch_footer()
  end
end

--- Removes the last turn's summary after the user has undone the turn or kept its changes.
M.forget = forget

--- Shows the changes from the last turn as a diff in a tab.
local function show_diff(at)
  local id = at.checkpoint.checkpointId
  client.request('agent/checkpoint/diff', { checkpointId = id }, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    vim.cmd.tabnew()
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.filetype = 'nofile', 'wipe', 'diff'
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(vim.trim(res.diff), '\n'))
    vim.bo.modifiable = false
    local opts = { buffer = true, nowait = true, desc = 'agent-lsp: close the diff' }
    vim.keymap.set('n', 'q', vim.cmd.bwipeout, opts)
  end, { workspace = at.workspace })
end

local on_done = {
  keep = forget,
  undo = function()
    local at = last
    forget()
    require('agent_lsp.restore').restore(at.checkpoint.checkpointId, { workspace = at.workspace })
  end,
  review = function()
    show_diff(last)
  end,
}

local on_pending = {
  keep = function()
    require('agent_lsp.review').decide('accept', { all = true })
  end,
  undo = function()
    require('agent_lsp.review').decide('reject', { all = true })
  end,
  review = function()
    require('agent_lsp.commands').review({ args = '' })
  end,
}

--- Runs the action that the user chose with a key of the summary.
---@param action 'keep'|'undo'|'review'
---@param idle boolean whether no turn is running
function M.act(action, idle)
  local s = M.summary(idle)
  if not s then
    return log.tell('there are no pending changes')
  end
  local actions = s.kind == 'done' and on_done or on_pending
  actions[action]()
end

events.on('turn/started', function(p)
  if transcript.ours(p) then
    forget()
  end
end)

events.on('session', function(p)
  if p.sessionId ~= transcript.session then
    last = nil
    transcript.touch_footer()
  end
end)

--- After a session is loaded, shows the last turn's summary again, unless the user has closed it.
---@param c agent_lsp.Checkpoint? the newest checkpoint
---@param ws agent_lsp.Workspace
function M.recall(c, ws)
  if c and c.messageId ~= '' and c.stat.files > 0 and not kept[c.checkpointId] then
    last = { checkpoint = c, workspace = ws }
  end
end

--- After a turn, requests the totals for its summary. If hunks are still pending, the user decides
--- them individually, and the turn's totals would not be correct.
events.on('turn/completed', function(p)
  local ws = client.by_id(p.client_id)
  if p.replay or not ws or not transcript.ours(p) or hunks.count() > 0 then
    return
  end
  client.request('agent/checkpoint/list', { sessionId = p.sessionId }, function(err, res)
    for _, c in ipairs(err and {} or res.checkpoints) do
      if c.turnId == p.turn.turnId and c.stat.files > 0 and transcript.ours(p) then
        last = { checkpoint = c, workspace = ws }
        transcript.touch_footer()
      end
    end
  end, { workspace = ws })
end)

return M
