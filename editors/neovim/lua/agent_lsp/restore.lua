--- Undoes the agent's changes: those from the last turn, or those since a checkpoint that the user
--- previews first. Each restore adds an entry to the transcript and can itself be undone.
local client = require('agent_lsp.client')
local disk = require('agent_lsp.disk')
local items = require('agent_lsp.items')
local log = require('agent_lsp.log')
local render = require('agent_lsp.render')
local transcript = require('agent_lsp.transcript')

local M = {}

---@alias agent_lsp.RestoreKind 'undo'|'back'
---@alias agent_lsp.RestoreScope 'files'|'both'

---@class agent_lsp.Undo how to undo a restore
---@field kind agent_lsp.RestoreKind
---@field scope agent_lsp.RestoreScope
---@field skipped? string the files that the restore did not change

local undos = {} ---@type table<string, agent_lsp.Undo> by the checkpoint that the restore created

---@param kind agent_lsp.RestoreKind
---@return agent_lsp.RestoreKind
local function opposite(kind)
  return kind == 'undo' and 'back' or 'undo'
end

local function files(n)
  return n == 1 and '1 file' or n .. ' files'
end

--- Returns the names of at most three files, and the number of the other files.
---@param uris string[]
local function names(uris)
  local out = {}
  for i, uri in ipairs(uris) do
    if i <= 3 then
      table.insert(out, vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.'))
    end
  end
  local more = #uris - #out
  return table.concat(out, ', ') .. (more > 0 and (' and %d more'):format(more) or '')
end

--- Describes a restore, for example "2 files and the conversation restored".
---@param n integer number of changed files
---@param kind agent_lsp.RestoreKind
---@param scope agent_lsp.RestoreScope
local function describe(n, kind, scope)
  local what = files(n)
  if scope == 'both' then
    what = n > 0 and what .. ' and the conversation' or 'conversation'
  end
  return what .. (kind == 'back' and ' brought back' or ' restored')
end

--- Returns the text that follows a restore's description if files were not restored.
---@param conflicts agent_lsp.RestoreConflict[]
local function skipped(conflicts)
  return #conflicts > 0 and (', %d skipped: %s'):format(#conflicts, conflicts[1].reason) or ''
end

--- Adds an entry for a restore to the transcript.
---@param text string
---@param uris string[] the changed files
---@param undo { checkpoint: string, workspace: agent_lsp.Workspace }
---@param created? string
local function add_entry(text, uris, undo, created)
  local named = #uris > 0 and ': ' .. names(uris) or ''
  local left = undos[undo.checkpoint].skipped or ''
  transcript.note(text .. named .. left, 'restore', undo, created)
end

--- Returns the kind of each restore among the checkpoints, newest first. Kinds from an earlier
--- Neovim process are not stored, so a restore directly after another one of the same scope is
--- assumed to revert that one.
local function kinds_of(list)
  local out = {}
  for i = #list, 1, -1 do
    local before = list[i + 1]
    local reverts = out[i + 1] == 'undo' and before.conversation == list[i].conversation
    if list[i].messageId == '' then
      out[i] = reverts and 'back' or 'undo'
    end
  end
  return out
end

--- Adds entries for a loaded session's restores.
---@param list agent_lsp.Checkpoint[] newest first
---@param ws agent_lsp.Workspace
function M.recall(list, ws)
  local found = kinds_of(list)
  for i = #list, 1, -1 do
    local c = list[i]
    if found[i] then
      local scope = c.conversation and 'both' or 'files'
      local undo = undos[c.checkpointId] or { kind = opposite(found[i]), scope = scope }
      undos[c.checkpointId] = undo
      local text = describe(#c.files, opposite(undo.kind), scope)
      add_entry(text, c.files, { checkpoint = c.checkpointId, workspace = ws }, c.createdAt)
    end
  end
end

--- Shows what a restore changed. After a restore of the conversation, the daemon replays the
--- remaining messages, and recall adds the entries.
---@param res agent_lsp.CheckpointRestoreResult
---@param text string
---@param scope agent_lsp.RestoreScope
---@param at { workspace: agent_lsp.Workspace }
local function show(res, text, scope, at)
  local session = at.workspace.session
  local undo = { checkpoint = res.undoCheckpointId, workspace = at.workspace }
  if transcript.session ~= session then
    return
  end
  require('agent_lsp.changes').forget()
  if scope == 'both' then
    transcript.clear()
    return require('agent_lsp.session').load(session, at.workspace)
  end
  local uris = vim.tbl_map(function(c)
    return c.uri
  end, res.changes)
  add_entry(text, uris, undo)
end

--- Restores a checkpoint's files or, with the scope `both`, also the conversation.
---@param id string
---@param at { workspace: agent_lsp.Workspace }
---@param kind? agent_lsp.RestoreKind
---@param scope? agent_lsp.RestoreScope
---@param prompt? string the prompt before which the conversation ends
function M.restore(id, at, kind, scope, prompt)
  local known = undos[id] or {}
  kind, scope = known.kind or kind or 'undo', scope or known.scope or 'files'
  local params = { checkpointId = id, scope = scope }
  client.request('agent/checkpoint/restore', params, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    if scope == 'files' and #res.changes + #res.conflicts == 0 then
      return log.tell('nothing to undo: the files already have their earlier content')
    end
    local left = skipped(res.conflicts)
    undos[res.undoCheckpointId] = { kind = opposite(kind), scope = scope, skipped = left }
    disk.reread()
    local text = describe(#res.changes, kind, scope)
    local to = prompt and (' to the state before "%s"'):format(prompt) or ''
    local undo = prompt and ':AgentUndo undoes this' or 'use :AgentUndo again to undo this'
    log.tell(text .. to .. left .. '; ' .. undo, nil, text .. left .. '; ' .. undo)
    show(res, text, scope, at)
  end, at)
end

--- Undoes the restore that a transcript entry describes.
---@param item agent_lsp.PanelItem?
function M.undo_entry(item)
  local undo = item and item.data.restore
  if not undo then
    return log.tell('there is no restore to undo here')
  end
  M.restore(undo.checkpoint, { workspace = undo.workspace })
end

--- Lists the session's checkpoints.
---@param conversation boolean whether to list restores that changed only the conversation
---@param fn fun(list: agent_lsp.Checkpoint[], at: { workspace: agent_lsp.Workspace })
local function checkpoints(conversation, fn)
  require('agent_lsp.session').get(function(session, at)
    local params = { sessionId = session, conversation = conversation }
    client.request('agent/checkpoint/list', params, function(err, res)
      if err then
        return log.tell(err, vim.log.levels.WARN)
      end
      if #res.checkpoints == 0 then
        return log.tell('there are no checkpoints yet')
      end
      fn(res.checkpoints, at)
    end, at)
  end)
end

--- Returns the kind of restore that a checkpoint allows. A checkpoint without a prompt was created
--- by a restore.
local function kind_of(c)
  return c.messageId == '' and 'back' or 'undo'
end

--- Undoes the last turn or the last restore. After a new prompt, it skips restores that changed
--- only the conversation, because undoing such a restore would remove the prompt.
function M.undo()
  checkpoints(true, function(list, at)
    for _, c in ipairs(list) do
      local talk = c.messageId == '' and #c.files == 0
      if not talk or not items.prompted_since(c.createdAt) then
        return M.restore(c.checkpointId, at, kind_of(c), c.conversation and 'both' or nil)
      end
    end
    log.tell('there is nothing to undo')
  end)
end

--- Names the restore before which a checkpoint was created.
local function before_restore(c)
  local undo = undos[c.checkpointId]
  return undo and undo.kind == 'undo' and 'a redo' or 'an undo'
end

--- Returns a checkpoint's time, prompt, files and line counts.
---@param c agent_lsp.Checkpoint
---@param limit integer maximum length of the prompt
local function heading(c, limit)
  local changes = ('%s  +%d -%d'):format(names(c.files), c.stat.added, c.stat.removed)
  local start = ('%s  %s'):format(render.day(c.createdAt), changes)
  local before = c.messageId == '' and before_restore(c) or transcript.prompt(c.messageId, limit)
  return before and ('%s  before: %s'):format(start, before) or start
end

--- Returns a checkpoint's list entry with the beginning of the prompt. If possible, the entry fits
--- into one line of a numbered list.
---@param c agent_lsp.Checkpoint
function M.entry(c)
  local without = vim.api.nvim_strwidth(heading(c, 0)) - 1
  return heading(c, math.max(12, math.min(60, vim.o.columns - without - #'10: ')))
end

local ns = vim.api.nvim_create_namespace('agent_lsp_restore')

--- Reports whether a checkpoint also restores the conversation: to the state before its prompt, or
--- before the restore that it undoes.
---@param c agent_lsp.Checkpoint
local function has_conversation(c)
  return c.messageId ~= '' or c.conversation == true
end

--- Returns the line that names the preview's keys.
---@param c agent_lsp.Checkpoint
local function preview_keys(c)
  local also = has_conversation(c) and ', b also the conversation' or ''
  return ('Enter restores the files%s, q closes the window.'):format(also)
end

--- Returns the preview's text. It contains the changes that a restore would undo, and names the
--- later checkpoints among them.
---@param c agent_lsp.Checkpoint
---@param newer agent_lsp.Checkpoint[]
---@param diff string
local function preview_text(c, newer, diff)
  local function narrow(text)
    return (text:gsub('^(%S+ %S+) +', '%1  '))
  end
  local lines = { narrow(heading(c, 300)), preview_keys(c), '' }
  for _, other in ipairs(newer) do
    table.insert(lines, 'also undone: ' .. narrow(M.entry(other)))
  end
  if #newer > 0 then
    table.insert(lines, '')
  end
  local text = diff == '' and 'The files already have their earlier content.' or vim.trim(diff)
  return vim.list_extend(lines, render.lines(text))
end

--- Shows what a restore of a checkpoint would undo.
local function preview(c, lines, at)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].bufhidden, vim.bo[buf].filetype, vim.bo[buf].modifiable = 'wipe', 'diff', false
  local title = { end_col = #lines[1], hl_group = 'AgentLspUser' }
  vim.api.nvim_buf_set_extmark(buf, ns, 0, 0, title)
  for _, key in ipairs({ 'Enter', 'b', 'q' }) do
    local first, last = lines[2]:find('%f[%w]' .. key .. '%f[%W]')
    if first then
      local mark = { end_col = last, hl_group = 'AgentLspKey' }
      vim.api.nvim_buf_set_extmark(buf, ns, 1, first - 1, mark)
    end
  end
  local width = math.min(100, vim.o.columns - 4)
  local height = math.min(#lines + 1, vim.o.lines - 6)
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = width,
    height = height,
    border = 'rounded',
    title = ' Restore a checkpoint ',
  })
  local look = { wrap = true, linebreak = true, number = false, relativenumber = false }
  look.signcolumn, look.fillchars = 'no', 'eob: '
  for name, value in pairs(look) do
    vim.wo[win][0][name] = value
  end
  local function map(lhs, fn, desc)
    vim.keymap.set('n', lhs, fn, { buffer = buf, nowait = true, desc = 'agent-lsp: ' .. desc })
  end
  local function close()
    pcall(vim.api.nvim_win_close, win, true)
  end
  map('q', close, 'leave the files as they are')
  map('<Esc>', close, 'leave the files as they are')
  map('<CR>', function()
    close()
    M.restore(c.checkpointId, at, kind_of(c), 'files')
  end, 'restore the files')
  if has_conversation(c) then
    map('b', function()
      close()
      local before = transcript.prompt(c.messageId, 20) -- the message must fit into 120 columns
      M.restore(c.checkpointId, at, kind_of(c), 'both', before)
    end, 'restore the files and the conversation')
  end
end

--- Lets the user choose a checkpoint, preview it and restore it.
function M.pick()
  checkpoints(false, function(list, at)
    local opts = { prompt = 'Restore a checkpoint', format_item = M.entry }
    vim.ui.select(list, opts, function(c, n)
      if not c then
        return
      end
      client.request('agent/checkpoint/diff', { checkpointId = c.checkpointId }, function(err, res)
        if err then
          return log.tell(err, vim.log.levels.WARN)
        end
        preview(c, preview_text(c, vim.list_slice(list, 1, n - 1), res.diff), at)
      end, at)
    end)
  end)
end

return M
