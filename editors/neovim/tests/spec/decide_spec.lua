--- Tests the keys that decide hunks in a buffer: where they are mapped, what they do, and how they
--- are shown.
local H = require('harness')
local R = require('review')

local function press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xm', false)
end

--- Returns the hint's text and row in a buffer.
local function hint(buf)
  local ns = require('agent_lsp.keys').namespace
  local marks = vim.api.nvim_buf_get_extmarks(buf or 0, ns, 0, -1, { details = true })
  H.equal(#marks <= 1, true, 'one hint at most')
  local details = marks[1] and marks[1][4] or {}
  local lines = vim.tbl_map(function(line)
    return vim.trim(table.concat(vim.tbl_map(function(chunk)
      return chunk[1]
    end, line)))
  end, details.virt_lines or { details.virt_text or {} })
  return table.concat(lines, '\n'), marks[1] and marks[1][2]
end

local function move(row)
  R.go(row)
  vim.cmd('doautocmd CursorMoved')
end

H.case(
  'keys accept, reject, comment on or edit the current hunk, and are unmapped after the last hunk',
  function()
    R.edits({ 'two\n', 'TWO\n', 'four\n', 'FOUR\n', 'seven\n', 'SEVEN\n', 'nine\n', 'NINE\n' })
    local buf = H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(4)
    move(2)
    press('gla')
    H.hunks(3)
    move(4)
    press('glr')
    H.hunks(2)
    move(7)
    H.choose('seven is fine')
    press('glc')
    H.hunks(1)
    press(']h')
    H.equal(vim.api.nvim_win_get_cursor(0)[1], 9)
    press('gle')
    H.equal(H.lines(), { 'NINE' })
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Nine' })
    vim.cmd('write')
    H.equal(H.turn().status, 'completed')
    local want = { 'one', 'TWO', 'three', 'four', 'five', 'six', 'seven', 'eight', 'Nine', 'ten' }
    H.equal(H.lines(buf), want)
    for _, lhs in ipairs({ 'gla', 'glr', 'gle', 'glc' }) do
      H.equal(vim.fn.maparg(lhs, 'n'), '', lhs .. ' without hunks')
    end
    H.equal(vim.fn.maparg(']h', 'n') ~= '', true, ']h goes on to other files')
    H.equal(hint(buf), '')
  end
)

H.case(
  'the hunk at the cursor shows its keys; otherwise the next hunk shows how to reach it',
  function()
    R.edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
    H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(2)
    require('agent_lsp.panel').close()
    move(2)
    H.equal({ hint() }, { 'gla accept  glr reject  gle edit  glc comment', 1 })
    move(5)
    H.equal({ hint() }, { ']h next', 8 })
    move(10)
    H.equal({ hint() }, { '' })
    move(9)
    H.equal({ hint() }, { 'gla accept  glr reject  gle edit  glc comment', 8 })
    local all = 'gla accept  glr reject  gle edit  glc comment'
    -- A sign takes two columns, and Neovim leaves one column between a line and its virtual text.
    local by_width =
      { [56] = all, [53] = 'gla accept  glr reject', [27] = 'gla accept  glr reject' }
    by_width[20] = 'gla accept\nglr reject'
    local columns = vim.o.columns
    vim.o.columns = 120
    for width, want in pairs(by_width) do
      vim.cmd('vsplit | vertical resize ' .. width)
      move(9)
      H.equal(hint(), want, 'columns: ' .. width)
      vim.cmd('close')
    end
    vim.o.columns = columns
    vim.cmd('AgentReject!')
    H.equal(H.turn().status, 'completed')
  end
)

H.case(
  'a hint that does not fit after the first line moves to another line or a separate one',
  function()
    local wide = ('x'):rep(70)
    R.edits(
      { wide .. '\n', 'X\n', wide .. '1\nshort\n', 'Y\n' },
      { files = { ['a.txt'] = 'one\n' .. wide .. '\nthree\n' .. wide .. '1\nshort\nend\n' } }
    )
    H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(2)
    require('agent_lsp.panel').close()
    H.equal(vim.o.columns, 80)
    move(2)
    H.equal({ hint() }, { 'gla accept  glr reject  gle edit  glc comment', 1 })
    move(4)
    H.equal({ hint() }, { 'gla accept  glr reject  gle edit  glc comment', 4 })
    vim.cmd('AgentReject!')
    H.equal(H.turn().status, 'completed')
  end
)

H.case('a key that the user has mapped is left alone, and the hint does not name it', function()
  vim.keymap.set('n', 'glr', '<Nop>')
  vim.keymap.set('n', 'glex', '<Nop>')
  R.edits({ 'two\n', 'TWO\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  require('agent_lsp.panel').close()
  move(2)
  local text = hint()
  local own = { vim.fn.maparg('glr', 'n'), vim.fn.maparg('gle', 'n') }
  vim.keymap.del('n', 'glr')
  vim.keymap.del('n', 'glex')
  H.equal(own, { '<Nop>', '' })
  H.equal(text, 'gla accept  glc comment')
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
end)

H.case('the keys can be configured individually or all together', function()
  for _, c in ipairs({
    {
      keys = { accept = '<Space>y', edit = false },
      hint = '<Space>y accept  glr reject  glc comment',
      mapped = { '<Space>y', 'glr', 'glc' },
    },
    { keys = false, hint = '', mapped = {} },
    {
      keys = true,
      hint = 'gla accept  glr reject  gle edit  glc comment',
      mapped = { 'gla', 'glr', 'gle', 'glc' },
    },
  }) do
    R.edits({ 'two\n', 'TWO\n' }, { setup = { review = { keys = c.keys } } })
    H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(1)
    require('agent_lsp.panel').close()
    move(2)
    H.equal(hint(), c.hint)
    local mapped = vim.tbl_filter(function(lhs)
      return vim.fn.maparg(lhs, 'n') ~= ''
    end, { '<Space>y', 'gla', 'glr', 'gle', 'glc' })
    H.equal(mapped, c.mapped)
    vim.cmd('AgentAccept!')
    H.equal(H.turn().status, 'completed')
  end
end)

H.case(':AgentEdit edits the hunk under the cursor', function()
  R.edits({ 'two\n', 'TWO\n' })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  move(2)
  vim.cmd('AgentEdit')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Two', 'and more' })
  vim.cmd('write')
  H.equal(H.turn().status, 'completed')
  H.equal(vim.list_slice(H.lines(buf), 1, 4), { 'one', 'Two', 'and more', 'three' })
  H.wait('the card', function()
    return H.panel_text():find('1 accepted with your changes', 1, true)
  end)
end)

H.case('a decision moves the cursor to the next hunk of the file, then to the first', function()
  R.edits({ 'two\n', 'TWO\n', 'four\n', 'FOUR\n', 'nine\n', 'NINE\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(3)
  local function cursor(row)
    H.wait('the cursor in row ' .. row, function()
      return vim.api.nvim_win_get_cursor(0)[1] == row
    end)
  end
  move(4)
  press('gla')
  cursor(9)
  press('glr')
  cursor(2)
  H.equal(hint(), 'gla accept  glr reject')
  press('glr')
  H.equal(H.turn().status, 'completed')
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 2)
end)

H.case('a decision does not move a cursor that the user has moved since', function()
  R.edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  move(2)
  press('gla')
  move(5)
  H.hunks(1)
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 5)
end)

H.case('after the last hunk of a file a notice says where the next hunk is', function()
  local function edit(path)
    return { name = 'edit', arguments = { path = path, old_string = 'one', new_string = 'two' } }
  end
  local read = { name = 'read', arguments = { path = 'a.txt' } }
  local read_b = { name = 'read', arguments = { path = 'b.txt' } }
  H.start({
    files = { ['a.txt'] = 'one\n', ['b.txt'] = 'one\n' },
    script = { { toolCalls = { read, read_b, edit('a.txt'), edit('b.txt') } }, { text = 'Done.' } },
  })
  local function says_next()
    return vim.iter(H.notices):any(function(n)
      return n.text == 'agent-lsp: no more hunks here; ]h continues in b.txt'
    end)
  end
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  move(1)
  H.equal(says_next(), false)
  press('gla')
  H.hunks(1)
  H.wait('the notice', says_next)
  press(']h')
  H.equal(vim.fn.expand('%'), 'b.txt', 'the name of the buffer is short')
  press('gla')
  H.equal(H.turn().status, 'completed')
  H.equal(#H.notices, 1)
end)

H.run()
