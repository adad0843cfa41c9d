--- Stored sessions: resume, fork, rename, archive, export, delete.
local client = require('agent_lsp.client')
local log = require('agent_lsp.log')
local panel = require('agent_lsp.panel')
local render = require('agent_lsp.render')

local M = {}

local actions = {}

function actions.resume(s, at)
  panel.clear()
  client.load(s.sessionId, at.workspace)
  panel.open()
end

function actions.fork(s, at)
  client.request('agent/session/fork', { sessionId = s.sessionId }, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    actions.resume(res, at)
  end, at)
end

function actions.rename(s, at)
  vim.ui.input({ prompt = 'Title: ', default = s.title }, function(title)
    if title and title ~= '' then
      client.request('agent/session/update', { sessionId = s.sessionId, title = title }, nil, at)
    end
  end)
end

function actions.archive(s, at)
  client.request('agent/session/update', { sessionId = s.sessionId, archived = true }, nil, at)
end

function actions.delete(s, at)
  client.request('agent/session/delete', { sessionId = s.sessionId }, function(err)
    log.tell(err or 'deleted', err and vim.log.levels.WARN or nil)
  end, at)
end

--- A title as the name of a Markdown file in the current folder that is not there yet.
local function file_name(title)
  local bare = vim.fn.substitute(title:lower(), '[^[:alnum:]]\\+', '-', 'g'):gsub('^%-+', ''):gsub('%-+$', '')
  bare = vim.fn.strcharpart(bare ~= '' and bare or 'session', 0, 60)
  local name, n = bare .. '.md', 1
  while vim.uv.fs_stat(name) or vim.fn.bufexists(name) == 1 do
    n = n + 1
    name = ('%s-%d.md'):format(bare, n)
  end
  return name
end

function actions.export(s, at)
  client.request('agent/session/export', { sessionId = s.sessionId, format = 'markdown' }, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    vim.cmd.tabnew()
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(res.content, '\n'))
    pcall(vim.api.nvim_buf_set_name, 0, file_name(s.title)) -- :w keeps it
    vim.bo.filetype, vim.bo.modified = 'markdown', false -- :q asks nothing
  end, at)
end

--- Lists the sessions and does the named action (resume, if none is named) with the chosen one.
---@param action string
function M.pick(action)
  action = action ~= '' and action or 'resume'
  if not actions[action] then
    return log.tell(('%s is not one of resume, fork, rename, archive, export, delete'):format(action), vim.log.levels.WARN)
  end
  local at = { workspace = client.workspace() } -- whatever window the choice is made in
  client.request('agent/session/list', { limit = 100 }, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    vim.ui.select(res.sessions, {
      prompt = 'Session to ' .. action,
      format_item = function(s)
        return ('%s  %s%s%s'):format(
          render.time(s.updatedAt),
          s.title ~= '' and s.title or '(no title)',
          s.status ~= 'idle' and '  [' .. s.status .. ']' or '',
          s.sessionId == at.workspace.session and '  (this one)' or ''
        )
      end,
    }, function(s)
      if s then
        actions[action](s, at)
      end
    end)
  end, at)
end

M.actions = actions
return M
