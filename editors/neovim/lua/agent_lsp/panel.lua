--- Implements the panel, which contains the session's transcript, the requests that wait for an
--- answer, and the input.
local bars = require('agent_lsp.bars')
local changes = require('agent_lsp.changes')
local client = require('agent_lsp.client')
local config = require('agent_lsp.config')
local events = require('agent_lsp.events')
local failure = require('agent_lsp.failure')
local footer = require('agent_lsp.footer')
local input = require('agent_lsp.input')
local items = require('agent_lsp.items')
local labels = require('agent_lsp.labels')
local layout = require('agent_lsp.layout')
local log = require('agent_lsp.log')
local permission = require('agent_lsp.permission')
local render = require('agent_lsp.render')
local target = require('agent_lsp.target')
local transcript = require('agent_lsp.transcript')

local M = {}

---@class agent_lsp.PanelState the state that the session reported
local state = { status = 'idle', queue = {}, title = '' }
M.state = state

--- Returns the statusline component (see bars.statusline).
function M.statusline()
  return bars.statusline(state)
end

--- Returns the session's settings as text, for the input's status line. Before the first session,
--- it returns the next session's settings.
function M.settings()
  local ws = client.current()
  local config_now = state.config or (ws and ws.demo and {} or config.next_session())
  return labels.settings(config_now, vim.api.nvim_win_get_width(0) - 2)
end

--- Draws the window bars (see bars.draw).
function M.winbar()
  bars.draw(state)
end

transcript.set_footer(function()
  return footer.look(state)
end)

function M.is_open()
  return transcript.window() ~= nil
end

local function set_options(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
end

local plain = {
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  statuscolumn = ' ',
  foldcolumn = '0',
  list = false,
  spell = false,
  wrap = true,
  linebreak = true,
  colorcolumn = '',
  cursorline = false,
}

--- Returns a document window, in which a file from an answer can be opened.
local function document_window()
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  local wins = vim.api.nvim_tabpage_list_wins(0)
  table.insert(wins, 1, previous)
  for _, win in ipairs(wins) do
    if win ~= 0 and vim.bo[vim.api.nvim_win_get_buf(win)].buftype == '' then
      return win
    end
  end
end

local function go_to_document()
  local win = document_window()
  if win then
    vim.api.nvim_set_current_win(win)
  else
    vim.cmd('topleft vsplit')
  end
end

--- Opens the file under the cursor in a document window, or a URL in the browser. It opens only web
--- pages, because a URL with another scheme can start any program that handles the scheme.
function M.go_to_file()
  local found = target.under_cursor(client.root(vim.api.nvim_get_current_buf()))
  if found.address and not found.address:lower():find('^https?://') then
    return log.tell(('%s is not the address of a web page'):format(found.address))
  elseif found.address then
    return vim.ui.open(found.address)
  elseif not found.file then
    return log.tell(('there is no file %s'):format(found.name))
  end
  go_to_document()
  vim.cmd.edit(vim.fn.fnameescape(found.file))
  if found.line then
    vim.api.nvim_win_set_cursor(0, { math.min(found.line, vim.api.nvim_buf_line_count(0)), 0 })
  end
end

--- Stops the sub-agent to which the cursor's row belongs.
local function stop_subagent()
  local here = transcript.at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  local call = transcript.enclosing(here, function(item)
    return item.data.type == 'toolCall' and item.data.name == 'agent' and not item.done
  end)
  if not call then
    return log.tell('there is no running sub-agent here')
  end
  client.request('agent/abort', { sessionId = transcript.session, itemId = call.id })
end

--- Pins or unpins the message at the cursor's row.
local function pin()
  local here = transcript.at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  if not here or here.data.type ~= 'userMessage' or here.depth > 0 then
    return log.tell('this is not one of your messages')
  end
  client.request(
    'agent/session/update',
    { sessionId = transcript.session, [here.data.pinned and 'unpin' or 'pin'] = { here.id } }
  )
end

--- Continues a turn that was stopped or failed, or continues with the queue.
local function go_on()
  if transcript.session and state.status == 'idle' then
    client.request('agent/continue', { sessionId = transcript.session })
  end
end

--- Answers the first question with the marked choices if it accepts several. Otherwise, goes to the
--- first pending hunk of the edit at the cursor or, below the transcript, of all edits.
local function enter()
  if permission.send() then
    return
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local here, below = transcript.at(row), transcript.in_footer(row)
  local id = here and here.data.proposalId
  for _, w in ipairs(require('agent_lsp.hunks').pending()) do
    if below or w.proposal.proposalId == id then
      go_to_document()
      return require('agent_lsp.review').show(w)
    end
  end
end

local function mapper(buf)
  return function(lhs, fn, desc)
    vim.keymap.set('n', lhs, fn, { buffer = buf, nowait = true, desc = 'agent-lsp: ' .. desc })
  end
end

--- Maps the keys that change a setting. The lines below the transcript name these keys when they
--- can resolve a problem.
local function map_setting_keys(map)
  map('S', function()
    require('agent_lsp.setup').start()
  end, 'choose a provider')
  map('K', function()
    require('agent_lsp.setup').change_key(client.workspace())
  end, 'enter another API key')
  map('M', function()
    require('agent_lsp.commands').model({ args = '' })
  end, 'choose a model')
  map('L', function()
    require('agent_lsp.program').locate()
  end, 'locate the program')
  map('O', function()
    require('agent_lsp.program').download()
  end, 'open the download page of the program')
  map('D', function()
    require('agent_lsp.demo').start()
  end, 'start the demo')
  map('P', function()
    require('agent_lsp.policy').pick('')
  end, 'choose the edit policy')
end

local function map_keys(buf)
  local map = mapper(buf)
  map_setting_keys(map)
  map('q', M.close, 'hide the panel')
  map('i', M.focus_input, 'write a prompt')
  map('<C-c>', function()
    require('agent_lsp').abort()
  end, 'stop the turn')
  for n = 1, 9 do
    map(tostring(n), function()
      permission.answer(n)
    end, 'answer the request')
  end
  map('a', permission.answer_in_words, 'write an answer')
  map('f', permission.refuse, 'reject and give a reason')
  map('gf', M.go_to_file, 'open the file under the cursor')
  map('x', stop_subagent, 'stop the sub-agent')
  map('p', pin, 'pin or unpin this message')
  map('c', go_on, 'continue the stopped turn, or send the queue')
  for lhs, action in pairs({ A = 'keep', U = 'undo', R = 'review' }) do
    map(lhs, function()
      changes.act(action, state.status == 'idle')
    end, action .. ' all changes')
  end
  map('u', function()
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    require('agent_lsp.restore').undo_entry(transcript.at(row))
  end, 'undo the restore under the cursor')
  map('<CR>', enter, 'send the marked choices, or go to the hunks of this edit')
  vim.b[buf].agent_lsp_mapped = true
end

local function open_input(win)
  local _, height = layout.sizes()
  local input_win =
    vim.api.nvim_open_win(input.buffer(), false, { split = 'below', height = height, win = win })
  layout.note(input_win, height)
  set_options(input_win, plain)
  set_options(input_win, {
    winfixheight = true,
    fillchars = 'eob: ',
    statusline = " %{v:lua.require'agent_lsp.panel'.settings()}",
    winbar = "%{%v:lua.require'agent_lsp.input'.hint()%}",
  })
  return input_win
end

--- Shows the panel in this tab. The focus does not move.
function M.open()
  if M.is_open() then
    return
  end
  local buf, o = transcript.buffer(), config.options.panel
  if not vim.b[buf].agent_lsp_mapped then
    map_keys(buf)
  end
  pcall(vim.api.nvim_win_close, layout.input() or -1, true) -- closes an input without a transcript
  local win =
    vim.api.nvim_open_win(buf, false, { split = o.side, width = (layout.sizes()), win = -1 })
  layout.note(win, (layout.sizes()))
  set_options(win, plain)
  set_options(win, {
    conceallevel = 2,
    concealcursor = 'nc',
    winfixwidth = true,
    statusline = ' agent-lsp',
    foldmethod = 'manual',
    foldenable = true,
    foldtext = "v:lua.require'agent_lsp.folds'.text()",
    fillchars = 'fold: ,eob: ',
    breakindent = true,
    breakindentopt = 'list:-1',
  })
  open_input(win)
  if transcript.is_empty() then
    require('agent_lsp.setup').look(client.workspace())
  end
  transcript.flush()
  transcript.fold()
  M.winbar()
  transcript.follow(win)
  vim.defer_fn(transcript.stay, 20) -- the text's width is known only after the text was drawn
end

--- Hides the panel in this tab. If the tab has no other window, an empty window replaces the panel.
function M.close()
  local mine = vim.tbl_filter(function(win)
    return win ~= -1
  end, { layout.input() or -1, transcript.window() or -1 })
  local others = vim.tbl_filter(function(win)
    return not vim.list_contains(mine, win) and vim.api.nvim_win_get_config(win).relative == ''
  end, vim.api.nvim_tabpage_list_wins(0))
  if #mine > 0 and #others == 0 then
    vim.cmd('topleft vnew')
  end
  for _, win in ipairs(mine) do
    pcall(vim.api.nvim_win_close, win, true)
  end
end

function M.toggle()
  if M.is_open() then
    M.close()
  else
    M.open()
  end
end

--- Moves the focus to the input.
function M.focus_input()
  M.open()
  vim.api.nvim_set_current_win(layout.input() or open_input(transcript.window()))
  vim.cmd.startinsert()
end

M.clear = transcript.clear

events.on('compaction', function(p)
  if not transcript.ours(p) then
    return
  end
  transcript.note(render.compaction(p))
end)

events.on('turn/started', function(p)
  if transcript.ours(p) then
    state.failure = nil
    state.broken = true -- a crash sends no turn/completed event
  end
end)

events.on('turn/completed', function(p)
  if transcript.ours(p) then
    state.broken = p.turn.status ~= 'completed' or nil
    state.failure = p.turn.status == 'failed' and p.turn.error or nil
    transcript.touch_footer()
  end
  local err = p.turn.status == 'failed' and p.turn.error
  if err and not p.replay and transcript.ours(p) then
    transcript.note(failure.text(err), 'error')
  end
  if config.options.notify and not p.replay and not (M.is_open() and transcript.ours(p)) then
    local text = {
      completed = 'the turn is done',
      aborted = 'the turn was stopped',
      failed = 'the turn failed: ' .. (err and err.message or ''),
    }
    local ws = client.count() > 1 and client.by_id(p.client_id)
    log.tell(
      (ws and vim.fs.basename(ws.root) .. ': ' or '') .. (text[p.turn.status] or p.turn.status)
    )
  end
end)

local told = { 'status', 'queue', 'usage', 'contextTokens', 'contextWindow', 'title', 'config' }

events.on('session/updated', function(p)
  if not transcript.ours(p) then
    return
  end
  local before = state.status
  for _, key in ipairs(told) do
    if p[key] ~= nil and p[key] ~= vim.NIL then
      state[key] = p[key]
    end
  end
  M.winbar()
  if state.status ~= before then
    vim.cmd.redrawstatus({ bang = true }) -- the input's keys do something else now
  end
  transcript.set_pinned(p.pinned or {})
  transcript.touch_footer()
end)

events.on('session', function(p)
  if p.sessionId == transcript.session then
    return
  end
  transcript.clear()
  transcript.session = p.sessionId
  for key in pairs(state) do
    state[key] = nil
  end
  state.status, state.queue, state.title = 'idle', {}, p.title or ''
  state.config = p.config
  M.winbar()
end)

events.on('exit', function(p)
  if not transcript.ours(p) then
    return
  end
  state.status, state.queue = 'idle', {}
  M.winbar()
end)

for _, name in ipairs({ 'pending', 'review' }) do
  events.on(name, transcript.touch_footer)
end

--- Redraws an edit's card when the user decides a hunk after the call has ended, which the policy
--- "review" allows.
for _, name in ipairs({ 'proposal/updated', 'proposal/closed' }) do
  events.on(name, function(p)
    local item = items.by_id[p.proposal.itemId]
    if item and item.done then
      transcript.touch(item)
    end
  end)
end

--- Redraws the bars that depend on the waiting request: the keys of the input, and the user's
--- status line.
events.on('pending', function()
  vim.cmd.redrawstatus({ bang = true })
end)

local group = vim.api.nvim_create_augroup('agent_lsp_panel', { clear = true })

--- Redraws a question when the user changes or saves a buffer, because the question names the
--- buffers that the command would save.
vim.api.nvim_create_autocmd('BufModifiedSet', {
  group = group,
  callback = function()
    if #permission.list() > 0 then
      transcript.touch_footer()
    end
  end,
})

vim.api.nvim_create_autocmd({ 'WinResized', 'TabEnter' }, {
  group = group,
  callback = function()
    layout.keep_height()
    M.winbar()
    transcript.rewrap()
    if #permission.list() > 0 then
      transcript.touch_footer() -- its hints depend on the window's size
    end
    transcript.stay()
  end,
})

return M
