--- Tests the panel among the user's windows: tabs, windows that are closed in an unusual order,
--- small terminals, and the user's colors and options.
local H = require('harness')

local function prompt(script, opts)
  H.start(
    vim.tbl_extend(
      'force',
      { files = { ['a.txt'] = 'one\ntwo\nthree\n' }, script = script },
      opts or {}
    )
  )
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.wait('the end', function()
    return H.panel_text():find('Done.', 1, true)
  end)
  return require('agent_lsp.transcript'), require('agent_lsp.layout')
end

local looked =
  { H.call('read', { path = 'a.txt' }, { reasoning = 'I look.\nClosely.' }), { text = 'Done.' } }

--- Returns the number of closed folds in a window.
local function folds(win)
  return vim.api.nvim_win_call(win, function()
    local n = 0
    for i = 1, vim.fn.line('$') do
      n = n + (vim.fn.foldclosed(i) == i and 1 or 0)
    end
    return n
  end)
end

local function settled(what, predicate)
  H.wait(what, function()
    vim.cmd.redraw()
    return predicate()
  end)
end

--- Returns the base names of the buffers in this tab's windows.
local function names()
  return vim.tbl_map(function(win)
    return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
  end, vim.api.nvim_tabpage_list_wins(0))
end

H.case(
  'a turn that ends while another tab is shown updates the bar and the folds in every tab',
  function()
    H.start({ files = { ['a.txt'] = 'one\n' }, script = looked })
    H.edit('a.txt')
    vim.cmd('AgentToggle')
    local transcript = require('agent_lsp.transcript')
    local first = transcript.window()
    vim.cmd('tabnew | AgentToggle')
    local second = transcript.window()
    vim.cmd('tabnew')
    vim.cmd('AgentNew')
    require('agent_lsp.panel').close()
    require('agent_lsp.session').get(function(session, at)
      require('agent_lsp.client').request(
        'agent/prompt',
        { sessionId = session, prompt = 'go' },
        nil,
        at
      )
    end)
    H.equal(H.turn().status, 'completed')
    for _, win in ipairs({ first, second }) do
      H.wait('the folds', function()
        return folds(win) == 2
      end)
      H.wait('the bar', function()
        return vim.wo[win].winbar:find('ready%%*%* · go')
      end)
    end
  end
)

H.case('closing the transcript closes the input, and reopening shows each window once', function()
  local transcript, layout = prompt(looked)
  local doc = vim.api.nvim_get_current_win()
  vim.api.nvim_win_close(transcript.window(), true)
  H.wait('the input to go', function()
    return layout.input() == nil
  end)
  vim.cmd('AgentToggle')
  vim.api.nvim_win_close(layout.input(), true)
  require('agent_lsp.panel').focus_input()
  H.equal({ #names(), names()[3] }, { 3, 'agent-lsp prompt' })
  vim.cmd('stopinsert')
  vim.api.nvim_set_current_win(doc)
  vim.cmd('only')
  H.equal(names(), { 'a.txt' })
  vim.cmd('AgentToggle')
  H.equal(#names(), 3)
  vim.api.nvim_set_current_win(transcript.window())
  vim.cmd('only')
  H.wait('the input to go', function()
    return #names() == 1
  end)
  vim.api.nvim_feedkeys('q', 'xt', false)
  H.equal(transcript.window(), nil, 'the panel is hidden though it was the only window')
  H.equal(#names(), 1)
  vim.cmd('AgentToggle | tabnew | tabonly')
  H.equal(#names(), 1)
  vim.cmd('AgentToggle')
  H.equal(#names(), 3)
end)

H.case('a wiped panel buffer is restored completely', function()
  local transcript = prompt(looked)
  local text = H.panel_text()
  vim.cmd('bwipeout! ' .. transcript.buf)
  H.equal(H.panel_text(), '')
  vim.cmd('AgentToggle')
  if not transcript.window() then
    vim.cmd('AgentToggle')
  end
  settled('the text', function()
    return H.panel_text() == text
  end)
  settled('the folds', function()
    return folds(transcript.window()) == 2
  end)
  H.equal(vim.fn.maparg('gf', 'n') ~= '' or vim.api.nvim_buf_call(transcript.buf, function()
    return vim.fn.maparg('gf', 'n') ~= ''
  end), true, 'its keys')
end)

H.case(
  'a small terminal leaves room for the documents, and the panel grows back with the terminal',
  function()
    local lines, columns = vim.o.lines, vim.o.columns
    vim.o.lines, vim.o.columns = 40, 160
    local transcript, layout = prompt(looked)
    H.equal(vim.api.nvim_win_get_width(transcript.window()), 60)
    vim.o.lines, vim.o.columns = 12, 40
    vim.cmd('doautocmd VimResized')
    H.equal({
      vim.api.nvim_win_get_width(transcript.window()),
      vim.api.nvim_win_get_height(layout.input()),
    }, { 20, 3 })
    vim.o.lines, vim.o.columns = 40, 160
    vim.cmd('doautocmd VimResized')
    H.equal({
      vim.api.nvim_win_get_width(transcript.window()),
      vim.api.nvim_win_get_height(layout.input()),
    }, { 60, 5 })
    vim.api.nvim_win_set_width(transcript.window(), 70)
    vim.o.columns = 150
    vim.cmd('doautocmd VimResized')
    H.equal(vim.api.nvim_win_get_width(transcript.window()), 70, 'as the user chose')
    vim.cmd('AgentToggle')
    vim.o.columns = 60
    vim.cmd('AgentToggle')
    H.equal(vim.api.nvim_win_get_width(transcript.window()), 30)
    vim.o.columns = 160
    vim.cmd('doautocmd VimResized')
    H.equal(vim.api.nvim_win_get_width(transcript.window()), 60, 'opened in a small terminal')
    vim.o.lines, vim.o.columns = lines, columns
  end
)

H.case(
  'highlights survive a new color scheme and background, also without termguicolors',
  function()
    prompt(looked)
    local function all()
      local out = {}
      for name, hl in pairs(vim.api.nvim_get_hl(0, {})) do
        out[name] = name:match('^AgentLsp') and (hl.link or 'none') or nil
      end
      return out
    end
    local before = all()
    H.equal(vim.tbl_count(before) > 10, true)
    for _, command in ipairs({
      'colorscheme habamax',
      'set background=light',
      'set notermguicolors',
      'colorscheme default',
      'highlight clear',
    }) do
      vim.cmd(command)
      H.equal(all(), before, command)
    end
    vim.cmd('highlight AgentLspUser guifg=#ff0000 | set background=dark')
    vim.cmd('set background& termguicolors&')
  end
)

H.case("the panel neither changes nor inherits the user's window options", function()
  local own = {
    number = true,
    relativenumber = true,
    list = true,
    wrap = false,
    spell = true,
    cursorline = true,
    foldcolumn = '2',
    conceallevel = 0,
  }
  for name, value in pairs(own) do
    vim.o[name] = value
  end
  if H.new_api then
    vim.o.winborder = 'double'
  end
  local transcript, layout = prompt(looked)
  local function differing(win)
    local out = {}
    for name, value in pairs(own) do
      if vim.wo[win][name] ~= value then
        table.insert(out, name)
      end
    end
    return out
  end
  H.equal(differing(0), {}, "the document's window")
  for _, win in ipairs({ transcript.window(), layout.input() }) do
    H.equal(
      { vim.wo[win].number, vim.wo[win].list, vim.wo[win].wrap, vim.wo[win].spell },
      { false, false, true, false }
    )
  end
  for name, value in pairs(own) do
    H.equal(vim.go[name], value, name .. ' of new windows')
  end
  vim.cmd('new')
  H.equal(differing(0), {}, 'a new window')
  for name in pairs(own) do
    vim.cmd('set ' .. name .. '&')
  end
  if H.new_api then
    vim.cmd('set winborder&')
  end
end)

H.case(
  'a decision on a buffer that is not modifiable is not sent, and can be made again later',
  function()
    H.start({
      files = { ['a.txt'] = 'one\ntwo\nthree\n' },
      script = {
        H.call('edit', { path = 'a.txt', old_string = 'two\n', new_string = 'TWO\n' }),
        { text = 'Done.' },
      },
    })
    local buf = H.edit('a.txt')
    vim.bo[buf].modifiable = false
    vim.cmd('AgentPrompt go')
    local review = H.hunks(1)
    vim.api.nvim_win_set_cursor(0, { 2, 0 })
    vim.cmd('AgentAccept')
    H.wait('the word', function()
      return #H.notices > 0
    end)
    H.equal(
      H.notices[1].text,
      "agent-lsp: the buffer of a.txt is 'nomodifiable'; nothing was decided"
    )
    H.equal({ review.count(), H.lines(buf) }, { 1, { 'one', 'two', 'three' } })
    vim.bo[buf].modifiable = true
    vim.cmd('AgentAccept')
    H.equal(H.turn().status, 'completed')
    H.equal(H.lines(buf)[2], 'TWO')
  end
)

H.run()
