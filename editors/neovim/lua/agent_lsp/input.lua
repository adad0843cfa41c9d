--- Implements the input below the panel: a buffer with keys that send its text, a prompt history,
--- and completion for the text after an @.
local mention = require('agent_lsp.mention')

local M = {}

local buffer ---@type integer?
local history = {} ---@type string[]
local at = 1

local chose = false -- whether the user has selected an entry in the menu
local taken ---@type string? text last taken from the menu or recalled, which the menu does not offer again

---@class agent_lsp.About the lines that the next prompt refers to
---@field uri string
---@field range lsp.Range
---@field name string

local about ---@type agent_lsp.About?

local typed_for ---@type string? the request that was waiting when the user began to type; '' if there was none

--- Sets the lines of the current buffer that the next prompt refers to. If range is nil, there are
--- no such lines.
---@param range? { first: integer, last: integer } one-based
function M.about(range)
  local name = vim.api.nvim_buf_get_name(0)
  about = nil
  if range and vim.bo.buftype == '' and name ~= '' then
    about = {
      uri = vim.uri_from_bufnr(0),
      range = {
        start = { line = range.first - 1, character = 0 },
        ['end'] = { line = range.last, character = 0 },
      },
      name = ('%s:%d-%d'):format(vim.fs.basename(name), range.first, range.last),
    }
  end
end

--- Returns descriptions of what Enter and other keys do now, from the longest to the shortest.
---@return string[]
local function key_texts()
  local answers = require('agent_lsp.permission').answers()
  if answers then
    local enter = ('Answer with %s, then Enter'):format(answers)
    return { enter .. '; Ctrl-C stops', enter }
  end
  local status = require('agent_lsp.panel').state.status
  if status == 'running' or status == 'awaiting' then
    local stop = '; Ctrl-C stops'
    local enter = 'Enter sends now'
    return { enter .. '; Alt-Enter after this turn' .. stop, enter .. stop, enter }
  end
  return { 'Enter sends; @ adds a file', 'Enter sends' }
end

--- Returns the line above the input, which shows the prompt's context and the keys.
function M.hint()
  local what = about and 'about ' .. about.name or ''
  local once = require('agent_lsp.once').text()
  what = what .. (what ~= '' and once ~= '' and ', ' or '') .. once
  local room = vim.api.nvim_win_get_width(0) - #what - 2
  local texts = key_texts()
  local keys = texts[1]
  for _, shorter in ipairs(texts) do
    keys = #keys > room and shorter or keys
  end
  return (what ~= '' and ' %#AgentLspKey#' .. what:gsub('%%', '%%%%') or '')
    .. ' %#AgentLspMeta#'
    .. keys
end

--- Adds the selected lines to a prompt as content, because a steer has no field for a selection.
local function with_lines(prompt, lines)
  if not lines then
    return prompt
  end
  local blocks = type(prompt) == 'string' and { { type = 'text', text = prompt } } or prompt
  return vim.list_extend(blocks, { { type = 'resource', uri = lines.uri, range = lines.range } })
end

local function text()
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n'))
end

--- Replaces the input's text with a prompt and moves the cursor to its end.
local function put(prompt)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(prompt, '\n'))
  for _, win in ipairs(M.windows()) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buffer), 10000 })
  end
end

--- Returns a callback for sending a prompt. If the prompt could not be sent, the callback puts it
--- back into the input, unless the user is already writing another prompt there.
local function unless_sent(prompt, lines)
  return function(err)
    if err and vim.api.nvim_buf_is_valid(buffer) and text() == '' then
      put(prompt)
      about = about or lines
    end
  end
end

--- Remembers which request was waiting when the user began to type, because the text does not
--- answer a later request.
local function note_begin()
  if text() == '' then
    typed_for = nil
  elseif not typed_for then
    local entry = require('agent_lsp.permission').list()[1]
    typed_for = entry and entry.id or ''
  end
end

local function clear()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { '' })
  typed_for = nil
end

--- Answers the waiting request if the user's text is one of the answers that it accepts. Otherwise,
--- it asks the user what the text is for. It returns false if no request is waiting.
---@param said string
---@param deliver fun()
---@return boolean
local function is_for_request(said, deliver)
  local permission = require('agent_lsp.permission')
  local entry = permission.list()[1]
  if not entry then
    return false
  end
  local result = (typed_for or entry.id) == entry.id and permission.typed(entry, said)
  if result then
    clear()
    entry.answer(result)
    return true
  end
  local question = entry.kind == 'question'
  vim.ui.select(
    { question and 'Answer with this' or 'Reject with this comment', 'Steer', 'Keep typing' },
    {
      prompt = question and 'The agent is waiting for an answer.'
        or 'The agent is waiting for your permission.',
      kind = 'agent_lsp',
    },
    function(_, n)
      if n == 2 then
        deliver()
      elseif n == 1 and vim.list_contains(permission.list(), entry) then
        clear()
        entry.answer(permission.in_words(entry, said))
      end
    end
  )
  return true
end

--- Asks the user what to do with the text if sending it now would reject changes that wait for a
--- decision. It returns false if there are none.
---@param said string
---@param deliver fun()
---@return boolean
local function is_during_review(said, deliver)
  local ws = require('agent_lsp.client').here()
  local waits = require('agent_lsp.panel').state.status == 'awaiting'
  local count = waits and ws and require('agent_lsp.hunks').undecided(ws) or 0
  if count == 0 then
    return false
  end
  local those = ('%d %s'):format(count, count == 1 and 'change' or 'changes')
  vim.ui.select({ 'Send after this turn', 'Send now and reject ' .. those, 'Keep typing' }, {
    prompt = ('The agent is waiting for your decision on %s.'):format(those),
    kind = 'agent_lsp',
  }, function(_, n)
    if n == 1 then
      M.deliver(said, 'queue')
    elseif n == 2 then
      deliver()
    end
  end)
  return true
end

--- Sends the input's text as a steer during a turn, otherwise as a prompt. If how is 'queue', it
--- adds the text to the queue instead. If the agent is waiting for an answer, the text answers the
--- request, or the user is asked what the text is for. If the text would reject undecided changes,
--- the user is asked first.
---@param how? 'queue'
function M.submit(how)
  local said = text()
  if said == '' then
    return
  end
  local function deliver()
    M.deliver(said, how)
  end
  local asks = how ~= 'queue' and (is_for_request(said, deliver) or is_during_review(said, deliver))
  if not asks then
    deliver()
  end
end

--- Sends the user's text and clears the input.
---@param said string
---@param how? 'queue'
function M.deliver(said, how)
  table.insert(history, said)
  at = #history + 1
  clear()
  local api, status = require('agent_lsp'), require('agent_lsp.panel').state.status
  local prompt, lines = mention.blocks(said), about
  local context = lines and { uri = lines.uri, selection = lines.range }
  about = nil
  local back = unless_sent(said, lines)
  if how == 'queue' then
    api.prompt(prompt, { delivery = 'queue', context = context }, back)
  elseif status == 'running' or status == 'awaiting' then
    api.steer(with_lines(prompt, lines), back)
  else
    api.prompt(prompt, { context = context }, back)
  end
end

--- Puts an earlier (-1) or later (1) prompt into the input.
---@param step integer
function M.recall(step)
  at = math.max(1, math.min(#history + 1, at + step))
  local prompt = history[at] or ''
  taken = prompt:match('@%S*$')
  put(prompt)
end

local function complete_at()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local function before()
    return vim.api.nvim_buf_get_lines(buffer, row - 1, row, false)[1]:sub(1, col)
  end
  local start, query = before():match('()@([#%w%._/%-]*)$')
  if not start or '@' .. query == taken then
    return
  end
  local asked = before()
  mention.complete(query, function(words)
    local here = vim.api.nvim_get_current_buf() == buffer and vim.fn.mode() == 'i'
    if here and #words > 0 and vim.api.nvim_win_get_cursor(0)[2] == col and before() == asked then
      chose = false
      vim.fn.complete(start, words)
    end
  end)
end

--- Reports whether the user has selected an entry in the menu, or the menu offers a completion that
--- differs from the typed text.
local function offers()
  if vim.fn.pumvisible() == 0 or chose then
    return chose and vim.fn.pumvisible() == 1
  end
  local info = vim.fn.complete_info({ 'selected', 'items' })
  local chosen = info.items[info.selected + 1]
  -- If the first entry is not the selected one, the user has moved in the menu with <C-n>, which
  -- triggers no mapping while the menu is visible.
  if info.selected > 0 then
    return true
  end
  local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
  return chosen ~= nil and not vim.endswith(before, chosen.word)
end

--- Configures the menu to insert nothing until the user chooses, regardless of the user's
--- completeopt, so that typing is not interrupted.
local function quiet_menu(buf)
  local wanted = 'menuone,noinsert'
  if vim.api.nvim_get_option_info2('completeopt', {}).global_local then
    vim.bo[buf].completeopt = wanted
    return
  end
  local own -- before Neovim 0.11, all buffers share one value
  vim.api.nvim_create_autocmd({ 'InsertEnter', 'InsertLeave' }, {
    buffer = buf,
    callback = function(args)
      if args.event == 'InsertEnter' then
        own, vim.o.completeopt = own or vim.o.completeopt, wanted
      elseif own then
        vim.o.completeopt, own = own, nil
      end
    end,
  })
end

local function press(key)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(key, true, false, true), 'n', false)
end

--- Returns a function for a key that moves in the menu. The function sends the key to the menu if
--- the menu is visible, and calls `otherwise` if it is not.
local function through_menu(key, otherwise)
  return function()
    if vim.fn.pumvisible() == 0 then
      return otherwise()
    end
    chose = true
    press(key)
  end
end

local function map_keys(buf)
  local function map(mode, lhs, fn, desc)
    vim.keymap.set(mode, lhs, fn, { buffer = buf, nowait = true, desc = 'agent-lsp: ' .. desc })
  end
  local function recall(step)
    return function()
      M.recall(step)
    end
  end
  map('n', '<CR>', M.submit, 'send')
  map('i', '<CR>', function()
    if offers() then
      return press('<C-y>')
    elseif vim.fn.pumvisible() == 1 then -- the menu must be closed before the text is removed
      return press("<C-y><Cmd>lua require('agent_lsp.input').submit()<CR>")
    end
    M.submit()
  end, 'send')
  map('i', '<Tab>', function()
    press(vim.fn.pumvisible() == 1 and '<C-y>' or '<Tab>')
  end, 'accept the menu entry')
  map('i', '<C-j>', function()
    vim.api.nvim_paste('\n', false, -1)
  end, 'new line')
  map({ 'n', 'i' }, '<C-s>', M.submit, 'send')
  map({ 'n', 'i' }, '<M-CR>', function()
    M.submit('queue')
  end, 'queue')
  map({ 'n', 'i' }, '<C-c>', function()
    require('agent_lsp').abort()
  end, 'stop the turn')
  map('n', '<C-p>', recall(-1), 'earlier prompt')
  map('n', '<C-n>', recall(1), 'later prompt')
  map('i', '<Up>', through_menu('<C-p>', recall(-1)), 'earlier prompt, or up in the menu')
  map('i', '<Down>', through_menu('<C-n>', recall(1)), 'later prompt, or down in the menu')
  map('n', 'q', function()
    require('agent_lsp.panel').close()
  end, 'hide the panel')
end

--- Returns the windows that show the input, in all tabs.
---@return integer[]
function M.windows()
  return buffer and vim.fn.win_findbuf(buffer) or {}
end

--- Returns the buffer. It is created on first use.
---@return integer
function M.buffer()
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    return buffer
  end
  buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, 'agent-lsp prompt')
  vim.bo[buffer].bufhidden, vim.bo[buffer].filetype = 'hide', 'agent_lsp_input'
  map_keys(buffer)
  quiet_menu(buffer)
  vim.api.nvim_create_autocmd('TextChangedI', { buffer = buffer, callback = complete_at })
  vim.api.nvim_create_autocmd(
    { 'TextChanged', 'TextChangedI', 'TextChangedP' },
    { buffer = buffer, callback = note_begin }
  )
  vim.api.nvim_create_autocmd('CompleteDone', {
    buffer = buffer,
    callback = function()
      taken = vim.v.completed_item.word
    end,
  })
  return buffer
end

return M
