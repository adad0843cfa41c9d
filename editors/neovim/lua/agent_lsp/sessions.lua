--- Lists stored sessions, and resumes, forks, renames, archives, exports or deletes a session.
local client = require('agent_lsp.client')
local labels = require('agent_lsp.labels')
local log = require('agent_lsp.log')
local panel = require('agent_lsp.panel')
local render = require('agent_lsp.render')

local M = {}

local actions = {}

function actions.resume(s, at)
  panel.clear()
  require('agent_lsp.session').load(s.sessionId, at.workspace)
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

--- Converts a title to the name of a Markdown file that does not exist in the current folder yet.
local function file_name(title)
  local bare =
    vim.fn.substitute(title:lower(), '[^[:alnum:]]\\+', '-', 'g'):gsub('^%-+', ''):gsub('%-+$', '')
  bare = vim.fn.strcharpart(bare ~= '' and bare or 'session', 0, 60)
  local name, n = bare .. '.md', 1
  while vim.uv.fs_stat(name) or vim.fn.bufexists(name) == 1 do
    n = n + 1
    name = ('%s-%d.md'):format(bare, n)
  end
  return name
end

function actions.export(s, at)
  client.request(
    'agent/session/export',
    { sessionId = s.sessionId, format = 'markdown' },
    function(err, res)
      if err then
        return log.tell(err, vim.log.levels.WARN)
      end
      vim.cmd.tabnew()
      vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(res.content, '\n'))
      pcall(vim.api.nvim_buf_set_name, 0, file_name(s.title)) -- the name that :w will use
      vim.bo.filetype, vim.bo.modified = 'markdown', false -- :q closes it without asking
    end,
    at
  )
end

--- Returns a session's list entry: its time, title, number of messages and state. The title is cut
--- if the entry would not fit into one line of a numbered list.
---@param s agent_lsp.Session
---@param current string?
function M.entry(s, current)
  local title = s.title ~= '' and s.title or '(no title)'
  local size = ('%d %s'):format(s.messages, s.messages == 1 and 'message' or 'messages')
  local note = s.status ~= 'idle' and ('  [%s]'):format(labels.status[s.status]) or ''
  note = note .. (s.sessionId == current and '  (this one)' or '')
  local day = render.day(s.updatedAt)
  local room = vim.o.columns - vim.api.nvim_strwidth(('10: %s    (%s)%s '):format(day, size, note))
  return ('%s  %s  (%s)%s'):format(day, render.cut(title, math.max(20, room)), size, note)
end

--- Reports whether a session is listed by default. Sessions from `agent-lsp run` are omitted, and
--- so are sessions without an answer because their prompt failed. A session that was restored to
--- before its first prompt has no messages, but it still has the title from that prompt. It is
--- listed, because the restore can be undone.
local function is_listed(s, current)
  if s.status ~= 'idle' or s.sessionId == current then
    return true
  end
  local restored = s.messages == 0 and s.title ~= ''
  return (s.messages > 1 or restored) and s.origin ~= 'run'
end

local page_size = 100
local most_pages = 5

--- Reads pages of the stored sessions until 100 are listed or 500 have been read. It calls fn with
--- an error, or with nil, the listed sessions, the number of omitted sessions, and whether more
--- sessions are stored.
---@param query string
---@param listed fun(s: agent_lsp.Session): boolean
---@param at { workspace: agent_lsp.Workspace }
---@param fn fun(err: string?, list: agent_lsp.Session[]?, hidden: integer?, more: boolean?)
local function find(query, listed, at, fn)
  local list, seen = {}, 0
  local function page(number, cursor)
    local params = { limit = page_size, query = query ~= '' and query or nil, cursor = cursor }
    client.request('agent/session/list', params, function(err, res)
      if err then
        return fn(err)
      end
      vim.list_extend(list, vim.tbl_filter(listed, res.sessions))
      seen = seen + #res.sessions
      if res.nextCursor and number < most_pages and #list < page_size then
        return page(number + 1, res.nextCursor)
      end
      fn(nil, list, seen - #list, res.nextCursor ~= nil)
    end, at)
  end
  page(1)
end

--- The minimum number of sessions for which the list explains how to search.
local many = 10

--- Appends notes to a question's text that describe the omitted sessions, and how to search a long
--- list.
local function question(text, shown, hidden, more)
  local notes = {}
  if hidden > 0 then
    local others = ':AgentSessions! also lists %d from agent-lsp run or without an answer'
    table.insert(notes, others:format(hidden))
  end
  if more then
    table.insert(notes, ':AgentSessions WORDS searches all sessions')
  elseif shown >= many then
    table.insert(notes, ':AgentSessions WORDS searches')
  end
  return #notes > 0 and ('%s (%s)'):format(text, table.concat(notes, '; ')) or text
end

--- Splits the command's arguments into an action and search words.
local function split(args)
  local first, rest = args:match('^(%S*)%s*(.*)$')
  if actions[first] then
    return first, rest
  end
  return 'resume', args
end

--- Lists the sessions and runs an action on the chosen one.
---@param args string an action (the default is resume), then words that the sessions contain
---@param all? boolean includes sessions of `agent-lsp run` and sessions without an answer
function M.pick(args, all)
  local action, query = split(args)
  -- The workspace must not depend on the window in which the user makes a choice.
  local at = { workspace = client.workspace() }
  local current = at.workspace.session
  local function listed(s)
    return all or is_listed(s, current)
  end
  find(query, listed, at, function(err, list, hidden, more)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    if #list == 0 then
      local none = question('no sessions', 0, hidden, more)
      return log.tell(query ~= '' and 'no sessions with ' .. query or none)
    end
    vim.ui.select(list, {
      prompt = question('Session to ' .. action, #list, hidden, more),
      format_item = function(s)
        return M.entry(s, current)
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
