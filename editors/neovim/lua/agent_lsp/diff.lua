--- Shows a file and its proposed version side by side in a tab. The user may edit a proposed
--- version that is not in the buffer yet. Writing it accepts the file's pending hunks with the
--- edited text.
local draw = require('agent_lsp.draw')
local hunks = require('agent_lsp.hunks')
local log = require('agent_lsp.log')
local review = require('agent_lsp.review')

local M = {}

local diff = vim.text and vim.text.diff or vim.diff

---@class agent_lsp.Piece a pending hunk with its rows in the base and in the proposal (zero-based)
---@field hunk agent_lsp.Hunk
---@field base integer
---@field old string[]
---@field new string[]
---@field proposed integer

--- Returns a file's pending hunks with their positions, in order.
---@return agent_lsp.Piece[]
local function pieces(proposal, file)
  local out = {}
  for _, h in ipairs(file.hunks) do
    if h.state == 'pending' then
      local row = draw.place_of({ proposal = proposal, file = file, hunk = h })
      table.insert(
        out,
        { hunk = h, row = row, old = hunks.split(h.oldText), new = hunks.split(h.newText) }
      )
    end
  end
  table.sort(out, function(a, b)
    return a.row < b.row
  end)
  local shift = 0
  for _, p in ipairs(out) do
    p.base = file.placement == 'applied' and p.row - shift or p.row
    p.proposed = file.placement == 'applied' and p.row or p.row + shift
    shift = shift + #p.new - #p.old
  end
  return out
end

--- Returns a copy of the lines in which the side `from` of each hunk is replaced with its side
--- `to`. The argument `row` names the field that contains the row at which a hunk begins.
local function exchange(lines, list, from, to, row)
  local out = vim.deepcopy(lines)
  for i = #list, 1, -1 do
    local p = list[i]
    for _ = 1, #p[from] do
      table.remove(out, p[row] + 1)
    end
    for k, line in ipairs(p[to]) do
      table.insert(out, p[row] + k, line)
    end
  end
  return out
end

--- Returns a file's current content as the user sees it, from its buffer or, if there is none, from
--- disk.
local function current_lines(uri)
  local buf, path = draw.buffer(uri), vim.uri_to_fname(uri)
  if buf then
    local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
    return #lines == 1 and lines[1] == '' and {} or lines
  end
  return vim.fn.filereadable(path) == 1 and vim.fn.readfile(path) or {}
end

--- Returns a side's name for buffer lists and the tab line.
local function name_of(path, side)
  return ('%s (%s)'):format(vim.fn.fnamemodify(path, ':.'), side)
end

local function scratch(name, lines, filetype)
  local old = vim.fn.bufnr('^' .. vim.fn.escape(name, '\\*?[]{}^$,') .. '$')
  if old ~= -1 then
    pcall(vim.api.nvim_buf_delete, old, { force = true })
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, name)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype, vim.bo[buf].bufhidden = filetype, 'wipe'
  return buf
end

--- Returns a change as zero-based half-open ranges of old and new rows.
local function rows(c)
  local a, b = c[2] > 0 and c[1] - 1 or c[1], c[4] > 0 and c[3] - 1 or c[3]
  return a, a + c[2], b, b + c[4]
end

--- Compares the edited proposal with the original proposal. It returns a decision for each hunk,
--- and the user's edits outside all hunks.
---@param list agent_lsp.Piece[]
---@param proposed string[]
---@param now string[]
---@return agent_lsp.Decision[]? decisions nil if a change crosses a hunk's border
---@return { row: integer, stop: integer, lines: string[] }[] own the user's edits, with base rows
local function decisions(list, proposed, now)
  local changes = diff(
    table.concat(proposed, '\n') .. '\n',
    table.concat(now, '\n') .. '\n',
    { result_type = 'indices' }
  )
  local out, own, taken = {}, {}, {}
  for _, p in ipairs(list) do
    local lo, hi = p.proposed, p.proposed + #p.new
    local at, len = lo, #p.new
    for i, c in ipairs(changes) do
      local a, stop = rows(c)
      local inside = a >= lo and stop <= hi and not taken[i]
      if inside then
        len, taken[i] = len + c[4] - c[2], true
      elseif stop <= lo then
        at = at + c[4] - c[2]
      elseif a < hi and stop > lo then
        return nil, {}
      end
    end
    local like = p.hunk.newText ~= '' and p.hunk.newText or p.hunk.oldText
    local text = len > 0 and review.join(vim.list_slice(now, at + 1, at + len), like) or ''
    table.insert(out, {
      hunkId = p.hunk.hunkId,
      action = 'accept',
      newText = text ~= p.hunk.newText and text or nil,
    })
  end
  for i, c in ipairs(changes) do
    if not taken[i] then
      local a, stop, b, b_stop = rows(c)
      local shift = 0
      for _, p in ipairs(list) do
        shift = p.proposed + #p.new <= a and shift + #p.new - #p.old or shift
      end
      table.insert(
        own,
        { row = a - shift, stop = stop - shift, lines = vim.list_slice(now, b + 1, b_stop) }
      )
    end
  end
  return out, own
end

--- Applies the user's own edits outside all hunks to the file's buffer.
local function make_own(uri, own)
  if #own == 0 then
    return
  end
  local buf = vim.uri_to_bufnr(uri)
  vim.fn.bufload(buf)
  for i = #own, 1, -1 do
    vim.api.nvim_buf_set_lines(buf, own[i].row, own[i].stop, false, own[i].lines)
  end
end

local function close_tab(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local tab = vim.api.nvim_win_get_tabpage(win)
    pcall(vim.cmd.tabclose, vim.api.nvim_tabpage_get_number(tab))
  end
end

local function accept(proposal, file, buf, list, proposed)
  local now = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local made, own = decisions(list, proposed, now)
  if not made then
    return log.tell(
      'a change crosses the edge of a hunk; accept the hunk first, then edit the file',
      vim.log.levels.WARN
    )
  end
  make_own(hunks.uri(file), own)
  vim.bo[buf].modified = false
  vim.schedule(function()
    close_tab(buf)
    review.resolve(hunks.get(proposal.proposalId) or proposal, made)
  end)
end

local function show(side, buf)
  if side == 'right' then
    vim.cmd('rightbelow vsplit')
  end
  vim.api.nvim_win_set_buf(0, buf)
  vim.cmd.diffthis()
end

--- Shows a description above the window and the file's path below it.
local function label(text, path)
  vim.wo[0][0].winbar = text
  vim.wo[0][0].statusline = ' ' .. vim.fn.fnamemodify(path, ':~:.'):gsub('%%', '%%%%')
end

--- Returns the line above the proposed side, shortened to the available width.
function M.hint()
  local room = vim.api.nvim_win_get_width(0) - 1
  for _, text in ipairs({
    'proposed, editable (:w accepts, :tabclose cancels)',
    'proposed, editable (:w accepts)',
  }) do
    if #text <= room then
      return text
    end
  end
  return ':w accepts'
end

local function show_proposed(proposal, file, base, list, filetype)
  local path = vim.uri_to_fname(hunks.uri(file))
  local proposed = exchange(base, list, 'old', 'new', 'base')
  local buf = scratch(name_of(path, 'proposed'), proposed, filetype)
  show('right', buf)
  vim.bo[buf].buftype, vim.bo[buf].modified = 'acwrite', false
  label(" %{%v:lua.require'agent_lsp.diff'.hint()%}", path)
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      accept(proposal, file, buf, list, #proposed > 0 and proposed or { '' })
    end,
  })
end

--- Opens the diff of a proposal's file. Without arguments, it uses the hunk at the cursor or the
--- first pending one.
---@param proposal? agent_lsp.Proposal
---@param file? agent_lsp.ProposalFile
---@return boolean opened
function M.open(proposal, file)
  if not proposal then
    local w = review.at_cursor() or hunks.pending(vim.uri_from_bufnr(0))[1] or hunks.pending()[1]
    proposal, file = w and w.proposal, w and w.file
  end
  if not proposal or not file then
    log.tell('there is nothing to compare')
    return false
  end
  local path = vim.uri_to_fname(hunks.uri(file))
  local filetype = vim.filetype.match({ filename = path }) or ''
  local lines, list = current_lines(hunks.uri(file)), pieces(proposal, file)
  local applied = file.placement == 'applied'
  local base = applied and exchange(lines, list, 'new', 'old', 'row') or lines
  vim.cmd.tabnew()
  local empty = vim.api.nvim_get_current_buf()
  show('left', scratch(name_of(path, 'base'), base, filetype))
  vim.bo.modifiable = false
  label(' base ', path)
  if applied then
    local buf = vim.uri_to_bufnr(hunks.uri(file))
    vim.fn.bufload(buf)
    show('right', buf)
  else
    show_proposed(proposal, file, base, list, filetype)
  end
  pcall(vim.api.nvim_buf_delete, empty, {})
  return true
end

M.decisions = decisions
return M
