--- Tests the appearance of the panel and the review: the contrast of all highlights, and the layout
--- in 80 columns and 24 lines, where no text may be cut.
local H = require('harness')

local contrast = require('agent_lsp.contrast')

vim.cmd('syntax on')

--- Calls fn with the dark and with the light background of Neovim's default color scheme.
local function backgrounds(fn)
  vim.o.termguicolors = true
  for _, background in ipairs({ 'dark', 'light' }) do
    vim.o.background = background
    vim.cmd('colorscheme default')
    fn(background)
  end
  vim.cmd('set background& termguicolors&')
end

--- The window bars' highlights, which have their own background.
local bars = { 'AgentLspMeta', 'AgentLspKey', 'AgentLspRunning', 'AgentLspWaiting' }

H.case('every highlight has enough contrast on its background, dark and light', function()
  for _, part in ipairs({ 'render', 'draw', 'overview' }) do
    require('agent_lsp.' .. part)
  end
  backgrounds(function(background)
    local checked = 0
    for group in pairs(vim.api.nvim_get_hl(0, {})) do
      if group:match('^AgentLsp') then
        local ratio = contrast.of(group)
        H.equal(ratio >= contrast.least, true, ('%s, %s: %.2f'):format(background, group, ratio))
        checked = checked + 1
      end
    end
    H.equal(checked > 15, true, 'highlights')
    for _, group in ipairs(bars) do
      local ratio = contrast.of(group, 'WinBar')
      H.equal(ratio >= contrast.least, true, ('%s, %s in a bar'):format(background, group))
    end
  end)
end)

H.case('black on white has the highest contrast, and a color on itself none', function()
  vim.api.nvim_set_hl(0, 'TestInk', { fg = '#000000', bg = '#ffffff' })
  vim.api.nvim_set_hl(0, 'TestSame', { fg = '#336699', bg = '#336699' })
  H.equal(('%.2f %.2f'):format(contrast.of('TestInk'), contrast.of('TestSame')), '21.00 1.00')
  H.equal(('%.2f'):format(contrast.of('TestInk', 'TestSame')), '3.50')
end)

local cart = '// Total adds up.\nfunc Total() int {\n\treturn 0\n}\n'
local commented = {
  path = 'cart.go',
  old_string = '\treturn 0\n',
  new_string = '\t// nothing yet\n\treturn 1\n',
}

H.case('a syntax color that is hard to read on an added line is not used there', function()
  H.start({
    files = { ['cart.go'] = cart },
    settings = { editPolicy = 'collect' },
    script = { H.call('edit', commented), { text = 'Done.' } },
  })
  H.edit('cart.go')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.o.termguicolors, vim.o.background = true, 'dark'
  vim.cmd('colorscheme default')
  vim.cmd('AgentReview')
  require('agent_lsp.overview').want_colors(0, 40)
  local ns = vim.api.nvim_create_namespace('agent_lsp_overview_syntax')
  H.wait('the colors', function()
    return #vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {}) > 0
  end)
  local lines = H.lines()
  local seen = {}
  for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
    local added, group = vim.startswith(lines[m[2] + 1], '+'), m[4].hl_group
    seen[group .. (added and ' added' or '')] = true
    local ratio = contrast.of(group, added and 'AgentLspAdd' or nil)
    H.equal(not added or ratio >= contrast.least, true, group .. ' on an added line')
  end
  H.equal(seen.Comment, true, 'the comment of the context')
  H.equal(seen['Comment added'], nil)
  vim.cmd('set background& termguicolors&')
end)

H.case('settings are shown in words, the most important first', function()
  local settings = require('agent_lsp.labels').settings
  local chosen =
    { editPolicy = 'review', permissions = { profile = 'readOnly' }, model = 'acme/big' }
  local all = 'Edits: apply, undo later  Commands: read-only  Model: acme/big'
  H.equal(settings(chosen, 80), all)
  H.equal(settings(chosen, 50), 'Edits: apply, undo later  Commands: read-only')
  H.equal(settings({}, 30), 'Edits: ask first')
end)

H.case('before the first session, the line below the input shows the next settings', function()
  local fixed = { permissions = { profile = 'readOnly' } }
  H.start({ settings = fixed, script = { { text = 'Hello.' } } })
  require('agent_lsp.config').store({ editPolicy = 'auto' })
  vim.cmd('AgentToggle')
  local win = require('agent_lsp.layout').input()
  local function line()
    return vim.api.nvim_eval_statusline(vim.wo[win].statusline, { winid = win }).str
  end
  H.matches(line(), '^ Edits: apply  Commands: read%-only')
  vim.cmd('AgentPrompt hello')
  H.turn()
  H.matches(line(), '^ Edits: apply  Commands: read%-only')
end)

H.case('the time of a call is shown, but not the time that the user takes to decide', function()
  local function title(data)
    local item = { data = data, text = '', depth = 0, done = true }
    return require('agent_lsp.render').item(item, 60).lines[1]
  end
  local call = { type = 'toolCall', label = 'Run x', status = 'completed', durationMs = 2500 }
  H.matches(title(call), '2%.5 s$')
  for key, value in pairs({ proposalId = 'p', name = 'ask_user' }) do
    local waited = vim.tbl_extend('force', call, { [key] = value })
    H.equal(title(waited):find('2.5', 1, true), nil, key)
  end
end)

--- Runs fn in a terminal with 80 columns and 24 lines.
local function narrow(fn)
  local lines, columns = vim.o.lines, vim.o.columns
  vim.o.lines, vim.o.columns = 24, 80
  local ok, err = xpcall(fn, debug.traceback)
  vim.o.lines, vim.o.columns = lines, columns
  if not ok then
    error(err, 0)
  end
end

--- Fails if a bar of the transcript or the input is too wide, or if the lines from the one that
--- contains first to the end of the transcript do not fit into the window.
local function fits(first)
  local transcript, layout = require('agent_lsp.transcript'), require('agent_lsp.layout')
  transcript.flush()
  for _, win in ipairs({ transcript.window(), layout.input() }) do
    local width = vim.api.nvim_win_get_width(win)
    for _, bar in ipairs({ vim.wo[win].winbar, vim.wo[win].statusline }) do
      bar = bar:gsub('%%=', '') -- %= fills the remaining room
      local drawn = vim.api.nvim_eval_statusline(bar, { winid = win, maxwidth = 200 })
      H.equal(drawn.width <= width, true, ('%q in %d columns'):format(drawn.str, width))
    end
  end
  local win = transcript.window()
  local lines = vim.api.nvim_buf_get_lines(transcript.buf, 0, -1, false)
  local last = #lines
  -- A fence is shown as an empty line, or not at all.
  while lines[last] == '' or lines[last]:match('^`+$') do
    last = last - 1
  end
  for i, line in ipairs(lines) do
    if line:find(first, 1, true) then
      local rows = { start_row = i - 1, end_row = last - 1 }
      local text = vim.api.nvim_win_text_height(win, rows).all
      local room = vim.api.nvim_win_get_height(win) - 1 -- height without the bar
      return H.equal(text <= room, true, ('%d lines in %d:\n%s'):format(text, room, H.panel_text()))
    end
  end
  error(first .. ' is not in\n' .. H.panel_text())
end

local command = 'rm -rf build/ && mkdir -p build/out\ncp -r docs build/out'

H.case('a question with a long rule shows every key in 80 columns and 24 lines', function()
  narrow(function()
    H.start({
      files = { ['a.txt'] = 'one\n' },
      settings = { sandbox = 'off' },
      script = {
        H.call(
          'bash',
          { command = 'go vet ./... && go test -race ./internal/store ./internal/cart' }
        ),
        { text = 'Done.' },
      },
    })
    H.edit('a.txt')
    vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'ONE' })
    vim.cmd('AgentPrompt check it')
    H.wait('the question', function()
      return H.panel_text():find(' f  Reject and give a reason', 1, true)
    end)
    fits('? Allow this command?')
    H.matches(H.panel_text(), 'Elsewhere, use :AgentAnswer%.')
    H.equal(H.panel_text():find('In any window', 1, true), nil)
    vim.o.lines = 40
    vim.api.nvim_win_set_height(require('agent_lsp.transcript').window(), 30)
    vim.cmd('doautocmd WinResized')
    H.wait('both hints in a larger window', function()
      return H.panel_text():find('In any window, use :AgentAnswer.', 1, true)
    end)
    vim.cmd('AgentAbort')
    H.turn()
  end)
end)

H.case('nothing in the panel is cut off in 80 columns and 24 lines', function()
  narrow(function()
    H.start({
      files = { ['a.txt'] = 'one\ntwo\n', ['docs/b.txt'] = 'three\n' },
      settings = { sandbox = 'off' },
      script = {
        H.call('bash', { command = command }),
        {
          toolCalls = {
            { name = 'read', arguments = { path = 'a.txt' } },
            { name = 'read', arguments = { path = 'docs/b.txt' } },
          },
        },
        {
          toolCalls = {
            {
              name = 'edit',
              arguments = { path = 'a.txt', old_string = 'one', new_string = 'ONE' },
            },
            {
              name = 'edit',
              arguments = { path = 'docs/b.txt', old_string = 'three', new_string = 'THREE' },
            },
          },
        },
        { text = 'Done.' },
        { error = { status = 401, message = 'invalid api key' } },
      },
    })
    H.edit('a.txt')
    vim.cmd('AgentToggle')
    H.wait('the beginning', function()
      return H.panel_text():find('Ask for a change', 1, true)
    end)
    fits('Ask for a change')
    vim.cmd('AgentPrompt clean the folder that the build leaves behind')
    H.wait('the question', function()
      return H.panel_text():find('In any window, use :AgentAnswer.', 1, true)
    end)
    fits('? Allow this command?')
    local layout, input = require('agent_lsp.layout'), require('agent_lsp.input')
    H.matches(
      vim.api.nvim_win_call(layout.input(), input.hint),
      'Answer with 1 to %d, y or n, then Enter'
    )
    for _, o in ipairs(require('agent_lsp.permission').list()[1].params.options) do
      if o.kind == 'reject_once' then
        require('agent_lsp.permission').list()[1].answer({ optionId = o.optionId })
        break
      end
    end
    H.hunks(2)
    fits('2 changes in 2 files')
    vim.cmd('AgentReview')
    for _, line in ipairs(H.lines()) do
      H.equal(vim.api.nvim_strwidth(line) <= 80, true, line)
    end
    H.equal(require('agent_lsp.overview').status(), 'hunk 1 of 2')
    vim.cmd('AgentAccept!')
    H.turn()
    H.wait('the summary', function()
      return H.panel_text():find('2 files changed', 1, true)
    end)
    fits('2 files changed')
    vim.cmd('AgentPrompt and then?')
    H.turn(2)
    H.wait('what helps', function()
      return H.panel_text():find('K  enter another API key', 1, true)
    end)
    fits('✗')
  end)
end)

H.case('nothing in the panel is cut off without a provider', function()
  narrow(function()
    H.start({})
    vim.env.AGENT_LSP_SCRIPT = nil
    vim.cmd('AgentToggle')
    H.wait('the offer', function()
      return H.panel_text():find('No model provider', 1, true)
    end)
    fits('No model provider')
  end)
end)

H.run()
