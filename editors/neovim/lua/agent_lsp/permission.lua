--- Handles permissions and questions from the daemon. The panel shows the first request and the
--- keys that answer it. If the panel is hidden, a notification and the status line name
--- `:AgentAnswer`, which asks with vim.ui.select. This module never opens a prompt on its own,
--- because a prompt that opens while the user types would receive a key that was meant for
--- something else. Neovim stays usable while a request waits for its answer.
local events = require('agent_lsp.events')
local log = require('agent_lsp.log')

local M = {}

---@class agent_lsp.Pending
---@field id string
---@field client_id integer
---@field kind 'permission'|'question'
---@field params agent_lsp.PermissionParams|agent_lsp.AskParams
---@field answer fun(result: table)
---@field chosen table<integer, boolean> marked choices of a question that accepts several
local pending = {} ---@type agent_lsp.Pending[]

---@return agent_lsp.Pending[]
function M.list()
  return pending
end

local function forget(entry)
  pending = vim.tbl_filter(function(p)
    return p ~= entry
  end, pending)
  events.emit('pending', { count = #pending })
end

--- Answers requests that no longer need an answer from the user. The content of the answer does not
--- matter, but each request needs one.
local function settle(predicate)
  for _, entry in ipairs(pending) do
    if predicate(entry) then
      entry.answer(entry.kind == 'permission' and { cancelled = true } or { declined = true })
    end
  end
end

events.on('request/resolved', function(params)
  settle(function(entry)
    return entry.id == params.requestId
  end)
end)

events.on('exit', function(params)
  settle(function(entry)
    return entry.client_id == params.client_id
  end)
end)

--- Queues a server request. The answer resumes the coroutine in which Neovim runs the request's
--- handler.
local function queue(kind, params, ctx)
  local co = coroutine.running()
  local entry =
    { id = params.requestId, client_id = ctx.client_id, kind = kind, params = params, chosen = {} }
  local done = false
  function entry.answer(result)
    if done then
      return
    end
    done = true
    forget(entry)
    vim.schedule(function() -- the answer may arrive before the handler yields
      coroutine.resume(co, result)
    end)
  end
  table.insert(pending, entry)
  events.emit('pending', { count = #pending, client_id = ctx.client_id })
  if not require('agent_lsp.panel').is_open() then
    log.tell(('%s :AgentAnswer opens the question'):format(M.headline(entry)), vim.log.levels.WARN)
  end
end

function M.handle(_, params, ctx)
  queue('permission', params, ctx)
  return coroutine.yield()
end

function M.ask(_, params, ctx)
  queue('question', params, ctx)
  return coroutine.yield()
end

--- Describes where a request comes from, if it is not from the root of the shown workspace.
local function place(entry)
  local client = require('agent_lsp.client')
  local cwd = entry.params.subject and entry.params.subject.cwd
  cwd = cwd and vim.fs.normalize(vim.startswith(cwd, 'file:') and vim.uri_to_fname(cwd) or cwd)
  local ws = client.by_id(entry.client_id)
  if ws and ws ~= client.current() then
    return 'in ' .. vim.fn.fnamemodify(cwd or ws.root, ':~')
  end
  return cwd and not (ws and cwd == ws.root) and 'in ' .. cwd or nil
end

--- Returns the text for a notification about a request.
---@param entry agent_lsp.Pending
function M.headline(entry)
  local render = require('agent_lsp.render')
  local s = entry.params.subject or {}
  if s.command then
    return ('The agent asks to run: %s'):format(render.whole(s.command)[1])
  end
  return ('The agent asks: %s'):format(
    render.line(entry.kind == 'question' and entry.params.question or entry.params.title)
  )
end

--- Describes a workspace's unsaved buffers, which are written before a command runs.
local function unsaved(client_id)
  local names = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if
      vim.bo[buf].modified
      and vim.bo[buf].buftype == ''
      and vim.lsp.buf_is_attached(buf, client_id)
    then
      table.insert(names, vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.'))
    end
  end
  table.sort(names)
  if #names > 0 then
    return ('saves %d unsaved %s: %s'):format(
      #names,
      #names == 1 and 'buffer' or 'buffers',
      table.concat(names, ', ')
    )
  end
end

--- Returns a request's text: the action, where and why it runs, and what it would do.
---@param entry agent_lsp.Pending
---@return string[]
---@return integer last the line on which the command ends, or 1 if there is no command
function M.describe(entry)
  local lines_of = require('agent_lsp.render').whole
  local p = entry.params
  local s, out = p.subject or {}, lines_of(entry.kind == 'question' and p.question or p.title)
  if s.command then
    out = { 'Allow this command?' } -- the usual title would repeat the command
    for i, l in ipairs(lines_of(s.command)) do
      table.insert(out, (i == 1 and '$ ' or '  ') .. l)
    end
  end
  local last = s.command and #out or 1
  if s.command then
    vim.list_extend(out, { unsaved(entry.client_id) })
  end
  for _, uri in ipairs(s.uris or {}) do
    local path = lines_of(vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.'))
    table.insert(out, table.concat(path, '\\x0a'))
  end
  table.insert(out, place(entry))
  for _, text in ipairs({ p.reason or '', p.preview or '' }) do
    if text ~= '' then
      vim.list_extend(out, lines_of(text))
    end
  end
  return out, last
end

--- Reports whether the first request is about a tool call.
---@param item agent_lsp.Item
function M.asks_about(item)
  local entry = pending[1]
  if not entry or item.status == 'completed' then
    return false
  end
  if entry.kind == 'permission' then
    return entry.params.itemId == item.itemId
  end
  return item.name == 'ask_user'
    and type(item.args) == 'table'
    and item.args.question == entry.params.question
end

--- Reports whether a request accepts several choices.
---@param entry agent_lsp.Pending
function M.is_multi(entry)
  return entry.kind == 'question'
    and entry.params.multi == true
    and #(entry.params.options or {}) > 0
end

--- Returns the text after a choice: the rule that the choice creates, or the choice's description.
--- A rule that the choice above it also creates is not repeated.
local function aside(kind, o, above)
  if kind == 'permission' then
    if o.pattern and o.pattern:find('^bash%(=') then
      return '  (exactly this command)' -- the question shows the command in full
    elseif o.pattern and above and o.pattern == above.pattern then
      return '  (same rule)'
    elseif o.pattern and not o.name:find(o.pattern, 1, true) then
      return ('  (rule: %s)'):format(
        table.concat(require('agent_lsp.render').whole((o.pattern:gsub('%s*\n%s*', '\n'))), ' ↵ ')
      )
    end
    return ''
  end
  return o.description and '  ' .. o.description or ''
end

--- Returns a request's choices for display.
---@param entry agent_lsp.Pending
---@return string[] choices
---@return integer[] asides the byte at which the explanation of each choice begins
function M.choices(entry)
  local function line_of(text)
    local lines = require('agent_lsp.render').whole(text)
    return lines[1] .. (#lines > 1 and ' …' or '')
  end
  local shown, asides = {}, {}
  for i, o in ipairs(entry.params.options or {}) do
    local box = M.is_multi(entry) and (entry.chosen[i] and '[x] ' or '[ ] ') or ''
    local name = entry.kind == 'permission' and o.name or o.label
    shown[i] = line_of(box .. name .. aside(entry.kind, o, entry.params.options[i - 1]))
    asides[i] = math.min(#shown[i], #box + #name)
  end
  return shown, asides
end

--- Toggles the mark of a choice in a question that accepts several choices.
local function mark(entry, n)
  if entry.params.options[n] then
    entry.chosen[n] = not entry.chosen[n]
    events.emit('pending', { count = #pending, client_id = entry.client_id })
  end
end

--- Returns the answer for the marked choices. If none is marked, the question is declined.
local function marked(entry)
  local labels = {}
  for i, o in ipairs(entry.params.options) do
    table.insert(labels, entry.chosen[i] and o.label or nil)
  end
  return #labels > 0 and { answer = table.concat(labels, ', ') } or { declined = true }
end

--- Answers the first question with its marked choices if it accepts several choices.
---@return boolean answered
function M.send()
  local entry = pending[1]
  if not entry or not M.is_multi(entry) then
    return false
  end
  entry.answer(marked(entry))
  return true
end

local function result_of(entry, n)
  local o = (entry.params.options or {})[n]
  if not o then
    return nil
  end
  return entry.kind == 'permission' and { optionId = o.optionId } or { answer = o.label }
end

--- Answers the first pending request with its n-th choice. If the question accepts several choices,
--- it toggles the mark of the choice.
---@param n integer
function M.answer(n)
  local entry = pending[1]
  if entry and M.is_multi(entry) then
    return mark(entry, n)
  end
  local result = entry and result_of(entry, n)
  if result then
    entry.answer(result)
  end
end

--- Converts the user's typed text to an answer. The text must be one of the digits that are shown
--- or, for a permission, y, yes, n or no. For any other text, it returns nil.
---@param entry agent_lsp.Pending
---@param text string
---@return table?
function M.typed(entry, text)
  local word = vim.trim(text):lower()
  if word:match('^[1-9]$') and not M.is_multi(entry) then
    return result_of(entry, tonumber(word))
  end
  local kind = ({ y = 'allow_once', yes = 'allow_once', n = 'reject_once', no = 'reject_once' })[word]
  for _, o in ipairs(kind and entry.kind == 'permission' and entry.params.options or {}) do
    if o.kind == kind then
      return { optionId = o.optionId }
    end
  end
end

--- Returns an answer with the user's text. For a permission, the answer rejects it, and the text is
--- a comment for the model.
---@param entry agent_lsp.Pending
---@param text string
---@return table
function M.in_words(entry, text)
  if entry.kind == 'question' then
    return { answer = text }
  end
  for _, o in ipairs(entry.params.options) do
    if o.kind == 'reject_once' then
      return { optionId = o.optionId, feedback = text }
    end
  end
  return { cancelled = true }
end

--- Descriptions of where the listed keys work. They are shown with a request.
M.where = { 'These keys work in this window.', 'In any window, use :AgentAnswer.' }
--- The hint for a window that has no room for both.
M.elsewhere = 'Elsewhere, use :AgentAnswer.'

--- Returns the texts that answer the first request when typed into the input, or nil if there are
--- none.
---@return string?
function M.answers()
  local entry = pending[1]
  local n = entry and not M.is_multi(entry) and #(entry.params.options or {}) or 0
  if n == 0 then
    return nil
  end
  local digits = n > 1 and ('1 to %d'):format(n) or '1'
  return entry.kind == 'permission' and digits .. ', y or n' or digits
end

local function ask_for_words(entry, prompt, reply)
  vim.ui.input({ prompt = prompt }, function(text)
    reply(text and text ~= '' and text or nil)
  end)
  return entry
end

--- Asks the user for text and answers the first question with it. If the text is empty, the
--- question is declined.
function M.answer_in_words()
  local entry = pending[1]
  if entry and entry.kind == 'question' then
    ask_for_words(entry, entry.params.question .. ' ', function(text)
      entry.answer(text and { answer = text } or { declined = true })
    end)
  end
end

--- Asks the user for a comment for the model, and rejects the first permission with it.
function M.refuse()
  local entry = pending[1]
  if not entry or entry.kind ~= 'permission' then
    return
  end
  ask_for_words(entry, 'Why not? ', function(text)
    entry.answer(M.in_words(entry, text))
  end)
end

--- Reminds the user that the question is still open, because closing its prompt decides nothing.
local function still_waits(entry)
  if vim.list_contains(pending, entry) then
    log.tell('the question is still open; use :AgentAnswer to show it again')
  end
end

--- Lets the user select several choices, one after another.
local function select_several(entry)
  local choices = M.choices(entry)
  choices[#choices + 1] = 'Send'
  vim.ui.select(
    choices,
    { prompt = table.concat(M.describe(entry), '\n'), kind = 'agent_lsp' },
    function(_, n)
      if not n then
        still_waits(entry)
      elseif n == #choices then
        entry.answer(marked(entry))
      elseif vim.list_contains(pending, entry) then
        mark(entry, n)
        select_several(entry)
      end
    end
  )
end

--- Asks the user to answer a request, with vim.ui.select, or with vim.ui.input if it has no
--- choices.
---@param entry? agent_lsp.Pending defaults to the first one
function M.select(entry)
  entry = entry or pending[1]
  if not entry then
    return log.tell('no question is waiting for an answer')
  end
  local choices = M.choices(entry)
  if #choices == 0 and entry.kind == 'question' then
    return ask_for_words(entry, entry.params.question .. ' ', function(text)
      entry.answer(text and { answer = text } or { declined = true })
    end)
  end
  if M.is_multi(entry) then
    return select_several(entry)
  end
  vim.ui.select(
    choices,
    { prompt = table.concat(M.describe(entry), '\n'), kind = 'agent_lsp' },
    function(_, n)
      if not n then
        return still_waits(entry)
      end
      entry.answer(result_of(entry, n))
    end
  )
end

return M
