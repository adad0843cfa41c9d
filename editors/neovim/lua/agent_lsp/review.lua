--- Finds pending hunks, goes to the next one, accepts, rejects, edits and comments on hunks, and
--- lists them all. Saving a file decides nothing, and only the user's own commands move the focus.
local client = require('agent_lsp.client')
local draw = require('agent_lsp.draw')
local events = require('agent_lsp.events')
local hunks = require('agent_lsp.hunks')
local log = require('agent_lsp.log')

local M = {}

M.count = hunks.count
M.proposals = hunks.proposals

--- The error code for a decision about an older revision of a proposal.
local stale_proposal = 1001

--- Returns the hunk under the cursor, in its own buffer or in the overview. Otherwise it returns
--- the nearest hunk within one line.
---@return agent_lsp.Waiting?
function M.at_cursor()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local buf = vim.api.nvim_get_current_buf()
  local overview = package.loaded['agent_lsp.overview']
  if overview and overview.is(buf) then
    return overview.at(row)
  end
  local nearest
  for _, r in ipairs(draw.rows(buf)) do
    if row >= r.row and row <= r.last then
      return r.item
    end
    if row + 1 == r.row or row - 1 == r.last then
      nearest = nearest or r.item
    end
  end
  return nearest
end

local function no_hunk()
  log.tell('there is no pending hunk under the cursor')
end

--- Shows a pending hunk in the current window.
---@param w agent_lsp.Waiting
function M.show(w)
  local path = vim.uri_to_fname(hunks.uri(w.file))
  if draw.buffer(hunks.uri(w.file)) ~= vim.api.nvim_get_current_buf() then
    vim.cmd.edit(vim.fn.fnameescape(vim.fn.fnamemodify(path, ':.')))
    draw.buffer_hunks(vim.api.nvim_get_current_buf())
  end
  local row = math.min(draw.place_of(w), vim.api.nvim_buf_line_count(0) - 1)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
end

local function beyond(rows, row, step)
  for i = step > 0 and 1 or #rows, step > 0 and #rows or 1, step do
    if (rows[i].row - row) * step > 0 then
      return rows[i]
    end
  end
end

--- Goes to the next (1) or previous (-1) hunk. After the last hunk of a file, it goes to the next
--- file with hunks.
---@param step 1|-1
function M.jump(step)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local overview = package.loaded['agent_lsp.overview']
  if overview and overview.is(vim.api.nvim_get_current_buf()) then
    return overview.jump(step)
  end
  local here = beyond(draw.rows(vim.api.nvim_get_current_buf()), row, step)
  if here then
    vim.cmd("normal! m'")
    return vim.api.nvim_win_set_cursor(0, { here.row + 1, 0 })
  end
  local uris, current = hunks.uris(), vim.uri_from_bufnr(0)
  if #uris == 0 then
    return log.tell('no pending hunks')
  end
  local at = 0
  for i, uri in ipairs(uris) do
    at = uri == current and i or at
  end
  if at == 0 and step < 0 then
    at = 1
  end
  local list = hunks.pending(uris[(at - 1 + step) % #uris + 1])
  table.sort(list, function(a, b)
    return draw.place_of(a) < draw.place_of(b)
  end)
  M.show(list[step > 0 and 1 or #list])
end

local function told(err, res, raw)
  if err then
    if raw and raw.code == stale_proposal and raw.data and raw.data.proposal then
      hunks.take(raw.data.proposal)
      err = 'the proposal has changed; review it again'
    end
    log.tell(err, vim.log.levels.WARN)
  elseif #(res.conflicts or {}) > 0 then
    log.tell(('the decision failed: %s'):format(res.conflicts[1].reason), vim.log.levels.WARN)
  end
end

--- Detaches the empty buffers of accepted new files and returns them. Such a buffer exists because
--- the user looked at the file. The daemon does not create a file that is open.
---@return integer[]
local function let_go(proposal, decisions)
  local accepted, out = {}, {}
  for _, d in ipairs(decisions) do
    accepted[d.hunkId] = d.action == 'accept'
  end
  for _, f in ipairs(proposal.files) do
    local buf = f.op == 'create' and f.placement ~= 'applied' and draw.buffer(f.uri)
    local wanted = accepted['*'] or f.hunks[1] and accepted[f.hunks[1].hunkId]
    if
      buf
      and wanted
      and not vim.bo[buf].modified
      and not vim.uv.fs_stat(vim.uri_to_fname(f.uri))
    then
      for _, c in ipairs(vim.lsp.get_clients({ bufnr = buf, name = 'agent_lsp' })) do
        vim.lsp.buf_detach_client(buf, c.id)
      end
      table.insert(out, buf)
    end
  end
  return out
end

--- Reloads the detached buffers, which opens them in the daemon again.
local function take_back(buffers)
  for _, buf in ipairs(buffers) do
    if vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified then
      vim.api.nvim_buf_call(buf, function()
        vim.cmd('silent! edit')
      end)
    end
  end
end

--- Returns the reason why decisions cannot be applied to the current buffers, or nil. The caller
--- does not send such decisions, because the daemon would report the hunks as conflicts.
local function obstacle(proposal, decisions)
  local accepts = vim.iter(decisions):any(function(d)
    return d.action == 'accept'
  end)
  for _, f in ipairs(proposal.files) do
    local buf = (accepts or f.placement == 'applied') and draw.buffer(hunks.uri(f))
    local why = buf and require('agent_lsp.edit').locked(buf)
    if why then
      return why .. '; nothing was decided'
    end
  end
end

--- Sends decisions on a proposal and calls fn with the error's text or nil.
---@param proposal agent_lsp.Proposal
---@param decisions agent_lsp.Decision[]
---@param fn? fun(err: string?)
function M.resolve(proposal, decisions, fn)
  local why = obstacle(proposal, decisions)
  if why then
    log.tell(why, vim.log.levels.WARN)
    return fn and fn(why)
  end
  local buffers = let_go(proposal, decisions)
  client.request('agent/proposal/resolve', {
    proposalId = proposal.proposalId,
    revision = proposal.revision,
    decisions = decisions,
  }, function(err, res, raw)
    told(err, res, raw)
    take_back(buffers)
    if fn then
      fn(err)
    end
  end, { workspace = hunks.workspace(proposal) })
end

--- Returns the current buffer's hunks in a range of lines.
---@param first integer one-based
---@param last integer
local function in_range(first, last)
  local out = {}
  for _, r in ipairs(draw.rows(vim.api.nvim_get_current_buf())) do
    if r.row + 1 <= last and r.last + 1 >= first then
      table.insert(out, r.item)
    end
  end
  return out
end

--- Accepts or rejects all pending hunks: in the overview, the hunks that it lists; elsewhere, the
--- hunks in the user's current workspace.
local function decide_all(action, comment)
  local overview, here = package.loaded['agent_lsp.overview'], client.here()
  local listed = overview and overview.is(vim.api.nvim_get_current_buf())
  local decided, left = 0, {}
  for _, p in ipairs(M.proposals()) do
    local ws = hunks.workspace(p)
    if listed or not ws or ws == here then
      M.resolve(p, { { hunkId = '*', action = action, comment = comment } })
      decided = decided + 1
    else
      left[vim.fn.fnamemodify(ws.root, ':~')] = true
    end
  end
  if next(left) then
    local where = vim.tbl_keys(left)
    table.sort(where)
    log.tell(('hunks in another folder are still pending: %s'):format(table.concat(where, ', ')))
  elseif decided == 0 then
    log.tell('no pending hunks')
  end
end

--- The last decision at the cursor. It is kept until its hunks are no longer pending.
local decided ---@type { buf: integer, cursor: integer[], ids: table<string, boolean> }?

--- Reports where the next hunk is if the buffer with the decided hunk has no more hunks.
local function tell_next(buf)
  local uris = hunks.uris()
  local overview = package.loaded['agent_lsp.overview']
  if #uris > 0 and not (overview and overview.is(buf)) then
    local key = require('agent_lsp.keys').of(buf, 'next') or ':AgentReview'
    local path = vim.fn.fnamemodify(vim.uri_to_fname(uris[1]), ':.')
    log.tell(('no more hunks here; %s continues in %s'):format(key, path))
  end
end

--- Moves the cursor from a decided hunk to the next one in the buffer, if the cursor is still at
--- the decided hunk.
local function go_on()
  local at = decided
  if not at or vim.api.nvim_get_current_buf() ~= at.buf then
    return
  end
  for _, w in ipairs(hunks.pending()) do
    if at.ids[w.hunk.hunkId] then
      return
    end
  end
  decided = nil
  local cursor, rows = vim.api.nvim_win_get_cursor(0), draw.rows(at.buf)
  if #rows == 0 then
    return tell_next(at.buf)
  end
  if cursor[1] == at.cursor[1] and vim.fn.mode() == 'n' then
    local below = vim.iter(rows):find(function(r)
      return r.last + 1 >= cursor[1]
    end)
    vim.api.nvim_win_set_cursor(0, { (below or rows[1]).row + 1, 0 })
    require('agent_lsp.keys').hint(at.buf, rows)
  end
end

events.on('review', go_on)

--- Accepts or rejects the hunk under the cursor, a given hunk, the hunks in a range of lines, or
--- all hunks.
---@param action 'accept'|'reject'
---@param opts? { all?: boolean, comment?: string, text?: string, hunk?: agent_lsp.Waiting, range?: { first: integer, last: integer } }
function M.decide(action, opts)
  opts = opts or {}
  if opts.all then
    return decide_all(action, opts.comment)
  end
  local list = opts.range and in_range(opts.range.first, opts.range.last)
    or { opts.hunk or M.at_cursor() }
  if #list == 0 then
    return no_hunk()
  end
  local by_proposal = {}
  for _, w in ipairs(list) do
    local id = w.proposal.proposalId
    by_proposal[id] = by_proposal[id] or { proposal = w.proposal, decisions = {} }
    table.insert(
      by_proposal[id].decisions,
      { hunkId = w.hunk.hunkId, action = action, comment = opts.comment, newText = opts.text }
    )
  end
  decided = { buf = vim.api.nvim_get_current_buf(), ids = {} }
  decided.cursor = vim.api.nvim_win_get_cursor(0)
  for _, w in ipairs(list) do
    decided.ids[w.hunk.hunkId] = true
  end
  for _, d in pairs(by_proposal) do
    M.resolve(d.proposal, d.decisions)
  end
end

--- Asks the user for a reason, and rejects the hunk under the cursor with the reason as a comment
--- for the model.
function M.comment()
  local w = M.at_cursor()
  if not w then
    return no_hunk()
  end
  vim.ui.input({ prompt = 'Why not? ' }, function(text)
    if text then
      M.decide('reject', { hunk = w, comment = text })
    end
  end)
end

--- Joins lines into text with the same line endings and final newline as the text in like.
---@param lines string[]
---@param like string
function M.join(lines, like)
  local eol = like:find('\r\n') and '\r\n' or '\n'
  local text = table.concat(lines, eol)
  return (like == '' or like:sub(-1) == '\n') and text .. eol or text
end

--- Returns the window width for a hunk's text, with room to write. The window below limits the
--- width.
local function width_for(buf)
  local longest = 0
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    longest = math.max(longest, vim.fn.strdisplaywidth(line))
  end
  return math.max(
    20,
    math.min(100, longest + 20, vim.api.nvim_win_get_width(0) - 4, vim.o.columns - 4),
    math.min(40, vim.o.columns - 4)
  )
end

--- Opens the hunk's new text in a small window. Writing the text accepts the hunk with that text.
function M.edit()
  local w = M.at_cursor()
  if not w then
    return no_hunk()
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, hunks.split(w.hunk.newText))
  local path = vim.uri_to_fname(hunks.uri(w.file))
  pcall(
    vim.api.nvim_buf_set_name,
    buf,
    ('%s (hunk at line %d)'):format(vim.fn.fnamemodify(path, ':.'), draw.place_of(w) + 1)
  )
  vim.bo[buf].buftype, vim.bo[buf].bufhidden = 'acwrite', 'wipe'
  vim.bo[buf].filetype = vim.filetype.match({ filename = path }) or ''
  vim.bo[buf].modified = false
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'cursor',
    row = 1,
    col = 0,
    width = width_for(buf),
    height = math.min(20, math.max(3, vim.api.nvim_buf_line_count(buf) + 1)),
    border = 'rounded',
    title = ' :w accepts this text, :q cancels ',
  })
  vim.wo[win][0].fillchars = 'eob: '
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      local text = M.join(
        vim.api.nvim_buf_get_lines(buf, 0, -1, false),
        w.hunk.newText ~= '' and w.hunk.newText or w.hunk.oldText
      )
      vim.bo[buf].modified = false
      vim.schedule(function()
        pcall(vim.api.nvim_win_close, win, true)
        M.decide('accept', { hunk = w, text = text })
      end)
    end,
  })
end

--- Lists all pending hunks in the quickfix list.
---@return integer count
function M.fill_quickfix()
  local list, buffers = {}, {}
  for _, w in ipairs(hunks.pending()) do
    local uri = hunks.uri(w.file)
    buffers[uri] = buffers[uri] or vim.fn.bufadd(vim.uri_to_fname(uri))
    local first = hunks.split(w.hunk.newText)[1] or hunks.split(w.hunk.oldText)[1] or ''
    table.insert(list, {
      bufnr = buffers[uri],
      lnum = draw.place_of(w) + 1,
      text = ('[%s%s] %s'):format(
        w.file.op,
        w.hunk.state == 'stale' and ', stale' or '',
        vim.trim(first)
      ),
      user_data = w.hunk.hunkId,
    })
  end
  vim.fn.setqflist({}, ' ', { title = 'agent-lsp: pending hunks', items = list })
  return #list
end

function M.quickfix()
  if M.fill_quickfix() == 0 then
    return log.tell('no pending hunks')
  end
  vim.cmd('botright copen')
end

return M
