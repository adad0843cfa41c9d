--- Renders an item in the transcript: its lines, their highlights and its fold.
local tables = require('agent_lsp.tables')

local M = {}

--- The maximum number of lines of a tool's output that the panel shows. The session and the
--- output's file contain the complete output.
local max_output = 400
--- The maximum number of lines of a running tool's output that the panel shows.
local live_output = 6

--- Since version 0.11, Neovim hides the line of a fence, including a fold that begins there.
local hides_fences = vim.fn.has('nvim-0.11') == 1

local icons = {
  pending = '○',
  awaitingPermission = '?',
  awaitingReview = '✎',
  running = '●',
  completed = '✓',
  failed = '✗',
  denied = '⊘',
  skipped = '↷',
  cancelled = '⊘',
}

local groups = {
  awaitingPermission = 'AgentLspWaiting',
  awaitingReview = 'AgentLspWaiting',
  running = 'AgentLspRunning',
  completed = 'AgentLspDone',
  failed = 'AgentLspFailed',
  denied = 'AgentLspFailed',
  cancelled = 'AgentLspFailed',
}

for group, link in pairs({
  AgentLspUser = 'Title',
  AgentLspReasoning = 'Comment',
  AgentLspOutput = 'Comment',
  AgentLspRunning = 'DiagnosticHint',
  AgentLspDone = 'DiagnosticOk',
  AgentLspFailed = 'DiagnosticError',
  AgentLspWaiting = 'DiagnosticWarn',
  AgentLspMeta = 'Comment',
  AgentLspAdded = 'Added',
  AgentLspRemoved = 'Removed',
  AgentLspKey = 'Identifier',
  AgentLspTool = 'Identifier',
}) do
  vim.api.nvim_set_hl(0, group, { link = link, default = true })
end

--- Splits text from a model or a tool into lines for a buffer. It removes terminal escape sequences
--- and control characters.
---@param text string
---@return string[]
function M.lines(text)
  text = text:gsub('\r\n', '\n'):gsub('\27%[[%d;?]*[%a]', ''):gsub('[%z\1-\8\11-\31\127]', '')
  return vim.split(text, '\n', { plain = true })
end

--- Ranges of characters that are invisible, look like a space or change the text direction. The
--- server replaces the same characters in titles.
local hidden = {
  { 0x80, 0xa0 },
  { 0xad, 0xad },
  { 0x34f, 0x34f },
  { 0x61c, 0x61c },
  { 0x115f, 0x1160 },
  { 0x1680, 0x1680 },
  { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f },
  { 0x2000, 0x200f },
  { 0x2028, 0x202f },
  { 0x205f, 0x206f },
  { 0x2800, 0x2800 },
  { 0x3000, 0x3000 },
  { 0x3164, 0x3164 },
  { 0xe000, 0xf8ff },
  { 0xfe00, 0xfe0f },
  { 0xfeff, 0xfeff },
  { 0xffa0, 0xffa0 },
  { 0xfff0, 0xfffb },
  { 0x1bca0, 0x1bca3 },
  { 0x1d173, 0x1d17a },
  { 0xe0000, 0x10ffff },
}

--- Returns a character, or an escape such as \u202e if it is hidden.
---@param char string a character of several bytes
---@return string
local function visible(char)
  local code = vim.fn.char2nr(char, 1)
  for _, range in ipairs(hidden) do
    if code >= range[1] and code <= range[2] then
      return (code < 0x100 and '\\x%02x' or code < 0x10000 and '\\u%04x' or '\\U%08x'):format(code)
    end
  end
  return char
end

--- Splits the text of a question into lines. Control characters and invisible characters appear as
--- escapes such as \x1b, so that they cannot change what the user sees.
---@param text string
---@return string[]
function M.whole(text)
  text = text:gsub('[%z\1-\8\11-\31\127]', function(char)
    return ('\\x%02x'):format(char:byte())
  end)
  text = text:gsub('[\194-\244][\128-\191]*', visible)
  return vim.split(text, '\n', { plain = true })
end

--- Returns the first line of the text, for use in a title.
---@param text string
function M.line(text)
  return M.lines(text)[1]
end

--- Cuts a line to a number of columns.
---@param text string
---@param columns integer
function M.cut(text, columns)
  if vim.api.nvim_strwidth(text) <= columns then
    return text
  end
  text = vim.fn.strcharpart(text, 0, math.max(0, columns - 1))
  while vim.api.nvim_strwidth(text) >= columns and text ~= '' do
    text = vim.fn.strcharpart(text, 0, vim.fn.strchars(text) - 1)
  end
  return text .. '…'
end

--- Returns the text of a prompt, which is a string or a list of content blocks. If the prompt has
--- no text, it returns a description of its content.
---@param prompt string|agent_lsp.ContentBlock[]
function M.prompt_text(prompt)
  if type(prompt) == 'string' then
    return prompt
  end
  local words, others = {}, {}
  for _, block in ipairs(prompt) do
    if block.type == 'text' then
      words[#words + 1] = block.text
    else
      others[#others + 1] = block.name or block.uri or block.type
    end
  end
  return table.concat(words[1] and words or others, ' ')
end

--- Describes a compaction. If the context was short, the summary can make it longer.
---@param c { tokensBefore: integer, tokensAfter: integer }
function M.compaction(c)
  if c.tokensAfter == c.tokensBefore then
    return ('the context was not reduced: %d tokens'):format(c.tokensAfter)
  end
  local what = c.tokensAfter < c.tokensBefore and 'context reduced from %d to %d tokens'
    or 'context summarized, but it is not smaller: %d tokens before, %d after'
  return what:format(c.tokensBefore, c.tokensAfter)
end

--- Describes when a queued prompt is sent.
---@param delivery string
function M.delivery(delivery)
  return delivery == 'steer' and 'steers next' or 'queued'
end

--- Converts a wire time (RFC 3339) to the user's time zone.
---@param iso string
function M.time(iso)
  local y, mo, d, h, mi, s, zone = iso:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)[%.%d]*(.*)$')
  if not y then
    return iso
  end
  local fields = {
    year = tonumber(y),
    month = tonumber(mo),
    day = tonumber(d),
    hour = tonumber(h),
    min = tonumber(mi),
    sec = tonumber(s),
  }
  fields.isdst = false
  local told = os.time(fields) -- the time is treated as local time
  local sign, zone_h, zone_m = zone:match('^([+-])(%d+):(%d+)$')
  local east = sign and (sign == '+' and 1 or -1) * (zone_h * 3600 + zone_m * 60) or 0
  local utc = os.date('!*t', told)
  utc.isdst = false
  return os.date('%Y-%m-%d %H:%M', told - east + os.difftime(told, os.time(utc)))
end

--- Formats a wire time for lists, with a word for today and yesterday. All results have the same
--- width.
---@param iso string
function M.day(iso)
  local text, now = M.time(iso), os.date('*t')
  local function date(ago)
    return os.date(
      '%Y-%m-%d',
      os.time({ year = now.year, month = now.month, day = now.day - ago, hour = 12 })
    )
  end
  for ago, word in pairs({ [0] = 'today', 'yesterday' }) do
    if vim.startswith(text, date(ago)) then
      text = word .. text:sub(#'2026-03-01' + 1)
    end
  end
  return ('%-16s'):format(text)
end

--- Returns a fence that none of the lines closes. Inside the fence, Markdown does not hide any
--- text.
---@param lines string[]
function M.fence(lines)
  local longest = 5
  for _, l in ipairs(lines) do
    longest = math.max(longest, #(l:match('^[%s│>]*(`*)') or ''))
  end
  return ('`'):rep(longest + 1)
end

--- Returns a line as a code span. Markdown hides only the span's backticks.
---@param text string
local function verbatim(text)
  if text == '' then
    return text
  end
  local longest = 0
  for run in text:gmatch('`+') do
    longest = math.max(longest, #run)
  end
  local ticks = ('`'):rep(longest + 1)
  -- The spaces of a code span are visible, so they are added only where the text begins or ends
  -- with a backtick.
  local before, behind = text:find('^`') and ' ' or '', text:find('`$') and ' ' or ''
  return ticks .. before .. text .. behind .. ticks
end

--- Adds lines that are not Markdown as a fenced block. Lines from a sub-agent become one code span
--- each, because a fence has no effect after their prefix.
---@return integer the number of lines before them
local function block(out, body, depth)
  if depth > 0 then
    vim.list_extend(out, vim.tbl_map(verbatim, body))
    return 0
  end
  local fence = M.fence(body)
  table.insert(out, fence)
  vim.list_extend(out, body)
  table.insert(out, fence)
  return 1
end

---@class agent_lsp.Look
---@field lines string[]
---@field group? string highlight of the first line
---@field icon? string highlight of the first line's icon only
---@field columns? integer the width for which its tables are drawn
---@field whole? boolean whether the highlight applies to all lines
---@field marks? { [1]: integer, [2]: integer, [3]: integer, [4]: string }[] row, columns and highlight of each part
---@field output? { [1]: integer, [2]: integer } range of lines that a tool printed, one-based
---@field fold? { [1]: integer, [2]: integer } range of lines that fold, one-based

--- Returns the fence that closes the lines' open code block, or nil if no code block is open.
---@param lines string[]
---@return string?
function M.unclosed(lines)
  local open
  for _, l in ipairs(lines) do
    local fence, info = l:match('^ ? ? ?(```+)([^`]*)$')
    if not fence then
      fence, info = l:match('^ ? ? ?(~~~+)(.*)$')
    end
    if not open then
      open = fence
    elseif
      fence
      and fence:sub(1, 1) == open:sub(1, 1)
      and #fence >= #open
      and not info:find('%S')
    then
      open = nil
    end
  end
  return open
end

--- Renders the model's complete text, including its tables.
local function with_tables(lines, item, columns)
  local look = { columns = columns }
  look.lines, look.marks = tables.draw(lines, columns - 2 * item.depth, function(out, body)
    return block(out, body, item.depth)
  end)
  return look
end

local function message(item, columns)
  local d = item.data
  if d.type == 'userMessage' then
    local body, out = M.lines(item.text), {}
    for i, l in ipairs(body) do
      body[i] = (i == 1 and '❯ ' or '  ') .. l
    end
    if d.source and d.source ~= 'prompt' then
      body[1] = body[1] .. ('  (%s)'):format(d.source == 'followUp' and 'queued' or d.source)
    end
    if d.pinned then
      body[1] = body[1] .. '  (pinned)'
    end
    block(out, body, item.depth)
    return { lines = out, group = 'AgentLspUser', whole = true }
  end
  local out = M.lines(item.done and item.text:gsub('%s+$', '') or item.text)
  if d.status == 'retracted' then
    return {
      lines = {
        ('(%d %s withdrawn; the answer starts again)'):format(
          #out,
          #out == 1 and 'line' or 'lines'
        ),
      },
      group = 'AgentLspMeta',
    }
  end
  local open = item.done and M.unclosed(out)
  if open then
    table.insert(out, open)
  end
  if d.status == 'aborted' then
    table.insert(out, '(aborted)')
  end
  return item.done and tables.has(item.text) and with_tables(out, item, columns) or { lines = out }
end

local function reasoning(item)
  local out = M.lines(vim.trim(item.text))
  for i, l in ipairs(out) do
    out[i] = '> ' .. l
  end
  return {
    lines = out,
    group = 'AgentLspReasoning',
    whole = true,
    fold = item.done and { 1, #out } or nil,
  }
end

local function plan(item)
  local out, marks = { 'Plan' }, {}
  local states = { completed = 'completed', inProgress = 'running' }
  for _, e in ipairs(item.data.entries or {}) do
    local status = states[e.status] or 'pending'
    local icon = icons[status]
    table.insert(out, ('%s %s'):format(icon, verbatim(M.line(e.content))))
    table.insert(marks, { #out - 1, 0, #icon, groups[status] or 'AgentLspMeta' })
    table.insert(
      marks,
      status == 'completed' and { #out - 1, #icon, #out[#out], 'AgentLspMeta' } or nil
    )
  end
  return { lines = out, group = 'AgentLspUser', marks = marks }
end

--- Describes a restore and the key that undoes it.
local function restored(item)
  local out = { '↶ ' .. verbatim(M.line(item.text)), '  u  undo this' }
  return { lines = out, group = 'AgentLspUser', marks = { { 1, 2, 3, 'AgentLspKey' } } }
end

local function notice(item)
  local level = item.data.level
  if level == 'restore' then
    return restored(item)
  end
  local out = vim.tbl_map(verbatim, M.lines(item.text))
  out[1] = (level == 'error' and '✗ ' or level == 'warning' and '! ' or 'i ') .. out[1]
  for i = 2, #out do
    out[i] = '  ' .. out[i]
  end
  local group = level == 'error' and 'AgentLspFailed'
    or level == 'warning' and 'AgentLspWaiting'
    or 'AgentLspMeta'
  return { lines = out, group = group, whole = true }
end

--- The tools that wait for the user. Their duration is the time that the user takes to answer, so
--- it is not shown.
local waits = { ask_user = true, present_plan = true }

local function duration(d)
  if not d.durationMs or d.durationMs < 1000 or d.proposalId or waits[d.name] then
    return ''
  end
  return ('  %.1f s'):format(d.durationMs / 1000)
end

--- Returns a command's exit code as text, or "" if the command succeeded.
local function code(d)
  local n = type(d.details) == 'table' and d.details.exitCode
  return d.status == 'completed' and type(n) == 'number' and n ~= 0 and ('  exit code %d'):format(n)
    or ''
end

--- Returns a call's title, without the part that the request below it shows in full.
local function title_of(d)
  local label = d.label and d.label ~= '' and d.label or d.name or ''
  if require('agent_lsp.permission').asks_about(d) then
    return (label:match('^%w[%w%-]*') or label) .. ': needs your answer'
  end
  -- The title is the first line without its final colon.
  return label:find('\n') and M.line(label):gsub(':$', '') or M.line(label)
end

--- Adds up to the given number of lines of a tool's output.
local function output(out, item, text, limit, from_end)
  local body = M.lines((text:gsub('%s+$', '')))
  local cut = #body - limit
  if cut > 0 then
    body = from_end and vim.list_slice(body, cut + 1) or vim.list_slice(body, 1, limit)
  end
  if cut > 0 and not from_end then
    table.insert(body, ('… %d more %s'):format(cut, cut == 1 and 'line' or 'lines'))
  end
  block(out, body, item.depth)
end

--- Renders a decided edit as the user's decision and the diff. It omits the call's result, which is
--- written for the model.
local function decided_edit(item)
  local d, cards = item.data, require('agent_lsp.cards')
  local added, removed = cards.counts(d)
  local head = ('%s %s'):format(icons[d.status] or '·', verbatim(title_of(d)))
  local counts = added and ('  %s %s'):format(added, removed) or ''
  local decision = cards.decision(d)
  local tail = decision ~= '' and '  ' .. verbatim(M.line(decision)) or ''
  local out = { head .. counts .. tail }
  local marks = { { 0, #(icons[d.status] or '·') + 1, #head, 'AgentLspTool' } }
  if added then
    table.insert(marks, { 0, #head + 2, #head + 2 + #added, 'AgentLspAdded' })
    table.insert(marks, { 0, #head + 3 + #added, #head + #counts, 'AgentLspRemoved' })
  end
  if tail ~= '' then -- replaces the color that Markdown gives to code
    table.insert(marks, { 0, #out[1] - #tail, #out[1], 'Normal' })
  end
  local body, colors = cards.diff(d)
  if #body > 0 then
    block(out, body, item.depth)
  end
  local first = item.depth > 0 and 1 or 2 -- the fence is before the first line
  for i, group in pairs(colors) do
    table.insert(marks, { first + i - 1, 0, #out[first + i], group })
  end
  return { lines = out, icon = groups[d.status], marks = marks }
end

local function tool(item)
  local d = item.data
  if item.done and d.proposalId and type(d.details) == 'table' and d.details.hunks then
    return decided_edit(item)
  end
  local title, ended = title_of(d), code(d)
  local status = ended ~= '' and 'failed' or d.status
  local out = { ('%s %s%s%s'):format(icons[status] or '·', verbatim(title), ended, duration(d)) }
  local begin = #(icons[status] or '·') + 1
  local look = { lines = out, icon = groups[status] }
  look.marks = { { 0, begin, begin + #verbatim(title), 'AgentLspTool' } }
  if d.status == 'running' and item.output ~= '' then
    output(out, item, item.output, live_output, true)
    look.output = { 2, #out }
  elseif item.done and d.result and d.result ~= '' then
    local wrong = d.status == 'denied' or d.isError
    if wrong then
      local lines = M.lines(vim.trim(d.result)) -- a sub-agent's result ends with its error
      local said = vim.trim(lines[d.name == 'agent' and #lines or 1])
      -- An edit's result already begins with the title.
      if not vim.startswith(said, title .. ': ') then
        said = ('%s: %s'):format(title, said)
      end
      -- The title is one span, because hidden characters still affect wrapping.
      out[1] = ('%s %s%s'):format(icons[status] or '·', verbatim(said), duration(d))
      look.marks = { { 0, begin, begin + #verbatim(said), 'AgentLspTool' } }
    end
    -- The title line already shows all of a single-line error.
    if not wrong or vim.trim(d.result):find('\n') then
      output(out, item, d.result, max_output)
      look.output = { 2, #out }
      look.fold = { item.depth == 0 and hides_fences and 3 or 2, #out }
    end
  end
  return look
end

local kinds = {
  userMessage = message,
  assistantMessage = message,
  reasoning = reasoning,
  plan = plan,
  notice = notice,
  toolCall = tool,
}

--- Returns the rendered item. Lines of a sub-agent's item have a prefix.
---@param item agent_lsp.PanelItem
---@param columns integer maximum width of a line
---@return agent_lsp.Look
function M.item(item, columns)
  local look = (kinds[item.data.type] or notice)(item, columns)
  if item.depth > 0 then
    for i, l in ipairs(look.lines) do
      look.lines[i] = ('│ '):rep(item.depth) .. l
    end
  end
  return look
end

--- Reports whether an item's text is drawn unchanged, so that a delta can be appended to it.
function M.is_plain(item)
  if item.data.type ~= 'assistantMessage' or item.depth > 0 or item.data.status then
    return false
  end
  return not item.done
    or not (item.text:find('%s$') or tables.has(item.text) or M.unclosed(M.lines(item.text)))
end

return M
