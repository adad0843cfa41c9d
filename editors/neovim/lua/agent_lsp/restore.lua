--- Undoes the agent's changes: those from the last turn, or those since a checkpoint that the user
--- previews first. Each restore adds an entry to the transcript and can itself be undone.
local client = require('agent_lsp.client')
local log = require('agent_lsp.log')
local render = require('agent_lsp.render')
local transcript = require('agent_lsp.transcript')

local M = {}

--- The kind of restore that each checkpoint allows, by its id. Only checkpoints that a restore
--- created are included.
local kinds = {} ---@type table<string, 'undo'|'back'>

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

--- Reports a restore to the user and in the transcript.
local function report(res, kind, at)
  local what = kind == 'back' and ' changed back' or ' restored'
  local uris = vim.tbl_map(function(c)
    return c.uri
  end, res.changes)
  local text = files(#uris) .. what
  local skipped = ''
  if #res.conflicts > 0 then
    skipped = (', %d skipped: %s'):format(#res.conflicts, res.conflicts[1].reason)
  end
  log.tell(text .. skipped .. '; use :AgentUndo again to undo this')
  if transcript.session == at.workspace.session then
    local named = #uris > 0 and ': ' .. names(uris) or ''
    local undo = { checkpoint = res.undoCheckpointId, workspace = at.workspace }
    transcript.note(text .. named .. skipped, 'restore', undo)
    require('agent_lsp.changes').forget()
  end
end

--- Returns the kind of each restore among the checkpoints, newest first. Kinds from an earlier
--- Neovim process are not stored, so a restore directly after another one is assumed to revert that
--- one.
local function kinds_of(list)
  local out, before = {}, nil
  for i = #list, 1, -1 do
    if list[i].messageId == '' then
      before = before == 'undo' and 'back' or 'undo'
      out[i] = before
    else
      before = nil
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
      local what = found[i] == 'back' and ' changed back: ' or ' restored: '
      kinds[c.checkpointId] = found[i] == 'undo' and 'back' or 'undo'
      local undo = { checkpoint = c.checkpointId, workspace = ws }
      transcript.note(files(#c.files) .. what .. names(c.files), 'restore', undo, c.createdAt)
    end
  end
end

--- Restores a checkpoint's files.
---@param id string
---@param at { workspace: agent_lsp.Workspace }
---@param kind? 'undo'|'back'
function M.restore(id, at, kind)
  kind = kinds[id] or kind or 'undo'
  client.request('agent/checkpoint/restore', { checkpointId = id }, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    if #res.changes + #res.conflicts == 0 then
      return log.tell('nothing to undo: the files already have their earlier content')
    end
    kinds[res.undoCheckpointId] = kind == 'undo' and 'back' or 'undo'
    vim.cmd.checktime()
    report(res, kind, at)
  end, at)
end

--- Restores a checkpoint's files, and the conversation as it was before the checkpoint's prompt.
--- The daemon replays the remaining conversation.
---@param c agent_lsp.Checkpoint
---@param at { workspace: agent_lsp.Workspace }
local function restore_both(c, at)
  local before = transcript.prompt(c.messageId)
  local params = { checkpointId = c.checkpointId, scope = 'both' }
  client.request('agent/checkpoint/restore', params, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    kinds[res.undoCheckpointId] = 'back'
    vim.cmd.checktime()
    if transcript.session == at.workspace.session then
      require('agent_lsp.changes').forget()
      transcript.clear()
      require('agent_lsp.session').load(at.workspace.session, at.workspace)
    end
    local prompt = before and (' to their state before the prompt "%s"'):format(before) or ''
    log.tell(('%s and the conversation restored%s'):format(files(#res.changes), prompt))
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

local function checkpoints(fn)
  require('agent_lsp.session').get(function(session, at)
    client.request('agent/checkpoint/list', { sessionId = session }, function(err, res)
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

--- Returns the kind of a checkpoint's restore. A checkpoint without a prompt was created by a
--- restore.
local function kind_of(c)
  return c.messageId == '' and 'back' or 'undo'
end

--- Undoes the last turn or the last restore.
function M.undo()
  checkpoints(function(list, at)
    M.restore(list[1].checkpointId, at, kind_of(list[1]))
  end)
end

--- Returns a checkpoint's list entry: its time, prompt, files and line counts.
---@param c agent_lsp.Checkpoint
function M.entry(c)
  local before = transcript.prompt(c.messageId) or c.messageId == '' and 'a restore'
  local prompt = before and ('  before: %s'):format(before) or ''
  local changes = ('%s  +%d -%d'):format(names(c.files), c.stat.added, c.stat.removed)
  return ('%s  %s%s'):format(render.day(c.createdAt), changes, prompt)
end

local ns = vim.api.nvim_create_namespace('agent_lsp_restore')

--- Returns the line that names the preview's keys. Only a prompt's checkpoint has a conversation
--- that can be restored.
---@param c agent_lsp.Checkpoint
local function preview_keys(c)
  local also = c.messageId ~= '' and ', b also restores the conversation' or ''
  return ('Enter restores the files%s, q closes the window.'):format(also)
end

--- Returns the preview's text. It contains the changes since the checkpoint, and later changes that
--- would also be undone.
---@param c agent_lsp.Checkpoint
---@param newer agent_lsp.Checkpoint[]
---@param diff string
local function preview_text(c, newer, diff)
  local lines = { (M.entry(c):gsub('^(%S+ %S+) +', '%1  ')), preview_keys(c), '' }
  for _, other in ipairs(newer) do
    table.insert(lines, 'also undone: ' .. M.entry(other))
  end
  if #newer > 0 then
    table.insert(lines, '')
  end
  return vim.list_extend(lines, render.lines(vim.trim(diff)))
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
    M.restore(c.checkpointId, at, kind_of(c))
  end, 'restore the files')
  if c.messageId ~= '' then
    map('b', function()
      close()
      restore_both(c, at)
    end, 'restore the files and the conversation')
  end
end

--- Lets the user choose a checkpoint, preview it and restore it.
function M.pick()
  checkpoints(function(list, at)
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
