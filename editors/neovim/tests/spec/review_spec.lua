--- Tests pending hunks in real buffers: which hunks are drawn, which are decided, and which are not
--- touched.
local H = require('harness')
local R = require('review')

local ten = R.ten
local edits = R.edits
local namespace_marks = R.marks
local virtual_lines = R.virtual_lines
local go = R.go
local replace = R.replace

H.case(
  'hunks of an unsaved buffer are decided one by one; other changes, cursor, marks, folds and registers survive',
  function()
    edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\nNINE AND A HALF\n' })
    local buf = H.edit('a.txt')
    vim.api.nvim_buf_set_lines(buf, 4, 5, false, { 'five, unsaved' })
    go(6)
    vim.cmd('normal! ma')
    vim.cmd('7,8fold')
    vim.fn.setreg('"', 'mine')
    local split = vim.api.nvim_get_current_win()
    vim.cmd('AgentPrompt change two and nine')
    local review = H.hunks(2)
    H.equal(virtual_lines(), { 'TWO', 'NINE', 'NINE AND A HALF' })
    H.equal(H.lines(buf), replace(vim.split(vim.trim(ten), '\n'), 5, 'five, unsaved'))
    go(9)
    vim.cmd('AgentAccept')
    H.hunks(1)
    H.equal(#namespace_marks() > 0, true)
    go(2)
    vim.cmd('AgentReject not this one')
    H.equal(H.turn().status, 'completed')
    H.equal(review.count(), 0)
    H.equal(H.lines(buf), {
      'one',
      'two',
      'three',
      'four',
      'five, unsaved',
      'six',
      'seven',
      'eight',
      'NINE',
      'NINE AND A HALF',
      'ten',
    })
    H.equal(H.read(H.dir .. '/a.txt'), ten, 'the file on disk')
    H.equal(vim.fn.getpos("'a")[2], 6, 'the mark')
    H.equal(vim.fn.foldclosed(7), 7, 'the fold')
    H.equal(vim.fn.getreg('"'), 'mine', 'the register')
    H.equal(vim.api.nvim_win_get_cursor(0), { 2, 0 }, 'the cursor')
    H.equal(vim.api.nvim_get_current_win(), split, 'the focus')
    H.equal(namespace_marks(), {}, 'marks are left')
    local result = H.event('item/completed', function(p)
      return p.item.name == 'edit'
    end).item.result
    H.matches(result, 'not this one')
  end
)

H.case(
  'a proposed line that is wider than the window is shown completely, also after a resize',
  function()
    local long = ('0123456789 ééé'):rep(5)
    edits({ 'two\n', '\t' .. long .. '\n' })
    H.edit('a.txt')
    vim.bo.tabstop = 4
    vim.cmd('AgentPrompt go')
    H.hunks(1)
    local function widest()
      local most = 0
      for _, line in ipairs(virtual_lines()) do
        most = math.max(most, vim.api.nvim_strwidth(line))
      end
      return most
    end
    local wide = table.concat(virtual_lines())
    H.equal(wide, '    ' .. long)
    H.equal(widest() <= 78, true, 'it is cut')
    vim.cmd('vertical resize 40')
    vim.cmd('doautocmd WinResized')
    H.wait('the narrower lines', function()
      return widest() <= 40
    end)
    H.equal(#virtual_lines() > 1, true)
    H.equal(table.concat(virtual_lines()), wide)
    vim.wo.wrap = false
    require('agent_lsp.draw').buffer_hunks(0, true)
    H.equal(virtual_lines(), { '    ' .. long })
  end
)

H.case('old lines have a background, and the new lines are below them', function()
  edits({ 'two\n', 'TWO\n', 'nine\n', '' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  local old, new = {}, {}
  for _, m in ipairs(namespace_marks()) do
    if m[4].hl_group == 'AgentLspDelete' then
      table.insert(old, { m[2], m[4].end_row, m[4].hl_eol })
    end
    for _, line in ipairs(m[4].virt_lines or {}) do
      table.insert(new, { m[2], line[1][1], line[1][2], m[4].virt_lines_above or false })
    end
  end
  H.equal(old, { { 1, 2, true }, { 8, 9, true } })
  H.equal(new, { { 1, 'TWO', 'AgentLspAdd', false } })
end)

H.case('one decision is one undo step, and undo and redo work across an accept', function()
  edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
  local buf = H.edit('a.txt')
  local before = H.lines(buf)
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  local after = replace(replace(before, 2, 'TWO'), 9, 'NINE')
  H.equal(H.lines(buf), after)
  vim.cmd('silent undo')
  H.equal(H.lines(buf), before)
  vim.cmd('silent redo')
  H.equal(H.lines(buf), after)
  vim.cmd('silent undo')
  H.equal(vim.bo[buf].modified, false)
end)

H.case('undo and redo keep pending hunks at their text', function()
  edits({ 'two\n', 'TWO\nTWO AGAIN\n', 'nine\n', 'NINE\n' })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  go(2)
  vim.cmd('AgentAccept')
  H.hunks(1)
  vim.cmd('silent undo')
  vim.cmd('normal! ggOzero')
  local draw = require('agent_lsp.draw')
  H.equal(draw.rows(buf)[1].row, 9)
  go(10)
  vim.cmd('AgentAccept')
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines(buf)[10], 'NINE')
  H.equal(H.lines(buf)[3], 'two')
end)

H.case('a hunk is accepted with changes', function()
  edits({ 'two\n', 'TWO\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  go(2)
  require('agent_lsp.review').edit()
  H.equal(H.lines(), { 'TWO' })
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'Two', 'and a bit' })
  vim.cmd('write')
  H.equal(H.turn().status, 'completed')
  H.equal(
    vim.list_slice(H.lines(vim.fn.bufnr('a.txt')), 1, 4),
    { 'one', 'Two', 'and a bit', 'three' }
  )
  local result = H.event('item/completed', function(p)
    return p.item.name == 'edit'
  end).item.result
  H.matches(result, 'and a bit')
end)

H.case('a hunk is rejected with a comment', function()
  H.start({
    files = { ['a.txt'] = ten },
    script = {
      H.call('edit', { path = 'a.txt', old_string = 'two', new_string = 'TWO' }),
      { expect = { lastTool = 'keep it small' }, text = 'Well.' },
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  go(2)
  H.choose('keep it small')
  vim.cmd.normal(vim.api.nvim_replace_termcodes('<Plug>(agent-lsp-comment)', true, true, true))
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines()[2], 'two')
end)

H.case('a range decides the hunks in it', function()
  edits({ 'two\n', 'TWO\n', 'five\n', 'FIVE\n', 'nine\n', 'NINE\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(3)
  vim.cmd('1,6AgentAccept')
  H.hunks(1)
  vim.cmd('AgentReject!')
  H.equal(H.turn().status, 'completed')
  H.equal(
    H.lines(),
    { 'one', 'TWO', 'three', 'four', 'FIVE', 'six', 'seven', 'eight', 'nine', 'ten' }
  )
end)

H.case(']h and [h walk the hunks, also into other files, and say when there are none', function()
  H.start({
    files = { ['a.txt'] = ten, ['b.txt'] = ten },
    settings = { editPolicy = 'collect' },
    script = {
      H.call('edit', {
        path = 'a.txt',
        edits = {
          { old_string = 'two\n', new_string = 'TWO\n' },
          { old_string = 'nine\n', new_string = 'NINE\n' },
        },
      }),
      H.call('edit', { path = 'b.txt', old_string = 'five\n', new_string = 'FIVE\n' }),
      { text = 'Done.' },
    },
  })
  H.edit('a.txt')
  H.equal(vim.fn.maparg(']h', 'n'), '')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.hunks(3)
  local seen = {}
  for _ = 1, 4 do
    vim.cmd.normal(']h')
    table.insert(
      seen,
      vim.fs.basename(vim.api.nvim_buf_get_name(0)) .. vim.api.nvim_win_get_cursor(0)[1]
    )
  end
  H.equal(seen, { 'a.txt2', 'a.txt9', 'b.txt5', 'a.txt2' })
  vim.cmd.normal('[h')
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 5)
  vim.cmd('AgentAccept!')
  H.hunks(0)
  H.wait('b.txt', function()
    return H.lines(vim.fn.bufnr('b.txt'))[5] == 'FIVE'
  end)
  H.notices = {}
  vim.cmd.normal(']h')
  H.wait('the word', function()
    return #H.notices == 1
  end)
  H.equal(H.notices[1], { text = 'agent-lsp: no pending hunks', level = vim.log.levels.INFO })
  vim.cmd('enew')
  H.equal(vim.fn.maparg(']h', 'n'), '', 'a buffer that never had hunks')
end)

H.case('in a file whose hunks are all decided ]h goes to the next file', function()
  H.start({
    files = { ['a.txt'] = ten, ['b.txt'] = ten },
    settings = { editPolicy = 'collect' },
    script = {
      H.call('edit', { path = 'a.txt', old_string = 'two\n', new_string = 'TWO\n' }),
      H.call('edit', { path = 'b.txt', old_string = 'five\n', new_string = 'FIVE\n' }),
      { text = 'Done.' },
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.hunks(2)
  vim.cmd.normal(']h')
  vim.cmd('AgentAccept')
  H.hunks(1)
  vim.cmd.normal(']h')
  H.matches(vim.api.nvim_buf_get_name(0), 'b.txt$')
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 5)
end)

H.case(
  'review buffers have names that fit a tab line, and their window options end with the review',
  function()
    H.start({
      files = { ['dir/a.txt'] = ten },
      settings = { editPolicy = 'collect' },
      script = {
        H.call('edit', { path = 'dir/a.txt', old_string = 'two\n', new_string = 'TWO\n' }),
        { text = 'Done.' },
      },
    })
    H.edit('dir/a.txt')
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    H.hunks(1)
    vim.o.number, vim.o.list, vim.o.wrap = true, true, true
    local function tabs()
      return vim.tbl_map(function(buf)
        return vim.fn.bufname(buf)
      end, vim.fn.tabpagebuflist())
    end
    vim.cmd('AgentReview')
    H.equal(tabs(), { 'agent-lsp review' })
    H.equal({ vim.wo.number, vim.wo.list, vim.wo.wrap }, { false, false, false })
    H.equal(
      { vim.go.number, vim.go.list, vim.go.wrap },
      { true, true, true },
      'the options of all windows'
    )
    vim.cmd('enew')
    H.equal(
      { vim.wo.number, vim.wo.list, vim.wo.wrap },
      { true, true, true },
      'the next buffer in that window'
    )
    vim.cmd('tabclose')
    vim.cmd('AgentDiff')
    H.equal(tabs(), { 'dir/a.txt (base)', 'dir/a.txt (proposed)' })
    for _, width in ipairs({ 60, 35, 18 }) do
      vim.cmd('vertical resize ' .. width)
      local hint = require('agent_lsp.diff').hint()
      H.equal({ #hint < width, hint:find(':w accepts', 1, true) ~= nil }, { true, true }, hint)
    end
    vim.cmd('AgentDiff')
    H.equal(tabs(), { 'dir/a.txt (base)', 'dir/a.txt (proposed)' })
    vim.cmd('silent write')
    H.hunks(0)
    H.wait('the change', function()
      return H.lines(vim.fn.bufnr('dir/a.txt$'))[2] == 'TWO'
    end)
    H.equal(vim.fn.filereadable('dir/a.txt (proposed)'), 0)
    vim.o.list = false
    vim.o.number = false
  end
)

H.case('the quickfix list and the overview show all pending hunks, and decide them', function()
  H.start({
    files = { ['a.txt'] = ten, ['b.txt'] = ten },
    settings = { editPolicy = 'collect' },
    script = {
      H.call('edit', {
        path = 'a.txt',
        edits = {
          { old_string = 'two\n', new_string = 'TWO\n' },
          { old_string = 'nine\n', new_string = 'NINE\n' },
        },
      }),
      H.call('write', { path = 'new.txt', content = 'new\n' }),
      { text = 'Done.' },
    },
  })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.hunks(3)
  vim.cmd('AgentReview quickfix')
  local list = vim.fn.getqflist()
  H.equal({ list[1].lnum, list[2].lnum, list[3].lnum, #list }, { 2, 9, 1, 3 })
  vim.cmd('cclose')
  vim.cmd('AgentReview')
  H.equal(vim.bo.filetype, 'agent_lsp_review')
  H.matches(
    table.concat(H.lines(), '\n'),
    'a.txt, 2 hunks\n@@ line 2\n one\n%-two\n%+TWO\n three\n four\n five\n'
      .. '@@ line 9\n six\n seven\n eight\n%-nine\n%+NINE\n ten\n\nnew.txt %(create%), 1 hunk\n@@ line 1\n%+new'
  )
  vim.api.nvim_feedkeys('a', 'xt', false)
  H.hunks(2)
  H.equal(require('agent_lsp.review').at_cursor().hunk.newText, 'NINE\n', 'the next pending hunk')
  vim.cmd.normal(']h')
  vim.api.nvim_feedkeys('A', 'xt', false)
  H.hunks(0)
  H.wait('the new file', function()
    return vim.fn.filereadable(H.dir .. '/new.txt') == 1
  end)
  H.equal(vim.fn.tabpagenr('$'), 1, 'the review is still open')
  H.wait('the message', function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find('the review is closed', 1, true)
    end)
  end)
  H.equal(H.lines(vim.fn.bufnr('a.txt'))[9], 'NINE')
end)

H.case('the diff shows both sides, and an edited proposal is accepted as edited', function()
  edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  vim.cmd('AgentDiff')
  local wins = vim.api.nvim_tabpage_list_wins(0)
  H.equal(#wins, 2)
  H.equal(H.lines(vim.api.nvim_win_get_buf(wins[1]))[2], 'two')
  H.equal(vim.wo[wins[1]].diff, true)
  local right = vim.api.nvim_win_get_buf(wins[2])
  H.equal({ H.lines(right)[2], H.lines(right)[9] }, { 'TWO', 'NINE' })
  vim.api.nvim_buf_set_lines(right, 1, 2, false, { 'Two', 'and a half' })
  vim.api.nvim_buf_set_lines(right, 6, 7, false, { 'six, by me' })
  vim.cmd('write')
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines(vim.fn.bufnr('a.txt')), {
    'one',
    'Two',
    'and a half',
    'three',
    'four',
    'five',
    'six, by me',
    'seven',
    'eight',
    'NINE',
    'ten',
  })
  H.wait('the tab to close', function()
    return vim.fn.tabpagenr('$') == 1
  end)
end)

H.case('under review policy the buffer has the new text, and a reject restores the old', function()
  edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' }, { settings = { editPolicy = 'review' } })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  H.hunks(2)
  H.equal({ H.lines(buf)[2], H.lines(buf)[9] }, { 'TWO', 'NINE' })
  H.equal(virtual_lines(), { 'two', 'nine' })
  vim.cmd('AgentDiff')
  local wins = vim.api.nvim_tabpage_list_wins(0)
  H.equal(H.lines(vim.api.nvim_win_get_buf(wins[1]))[2], 'two')
  H.equal(vim.api.nvim_win_get_buf(wins[2]), buf)
  vim.cmd('tabclose')
  go(2)
  vim.cmd('AgentReject')
  H.hunks(1)
  go(9)
  vim.cmd('AgentAccept')
  H.hunks(0)
  H.equal({ H.lines(buf)[2], H.lines(buf)[9] }, { 'two', 'NINE' })
end)

H.case('saving, autosave and format-on-write accept nothing', function()
  edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  vim.api.nvim_create_autocmd('BufWritePre', {
    buffer = buf,
    callback = function()
      vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'one, formatted', 'and more' })
    end,
  })
  vim.cmd('silent write')
  vim.cmd('silent wall')
  H.request('agent/status', {})
  H.hunks(2)
  H.matches(H.read(H.dir .. '/a.txt'), 'two\nthree')
  go(4)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.matches(table.concat(H.lines(buf), '\n'), 'TWO\nthree.*NINE')
end)

H.case(
  'typing elsewhere shifts a hunk; typing inside makes it stale, and it can be rejected',
  function()
    edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
    local buf = H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(2)
    vim.api.nvim_buf_set_lines(buf, 0, 0, false, { 'zero', 'zero and a half' })
    vim.api.nvim_buf_set_text(buf, 3, 1, 3, 1, { 'hidden ' })
    H.event('proposal/updated', function(p)
      return p.proposal.files[1].hunks[1].state == 'stale'
    end)
    H.equal(require('agent_lsp.draw').rows(buf)[2].row, 10)
    H.matches(vim.inspect(namespace_marks(buf)), 'stale')
    go(4)
    vim.cmd('AgentReject')
    H.hunks(1)
    go(11)
    vim.cmd('AgentAccept')
    H.equal(H.turn().status, 'completed')
    H.equal({ H.lines(buf)[4], H.lines(buf)[11] }, { 'thidden wo', 'NINE' })
  end
)

H.case('differences between two lines are found word by word', function()
  local words = require('agent_lsp.words')
  local old, new = words.spans('local x = foo(1)', 'local x = bar(1)')
  H.equal({ old, new }, { { { 10, 13 } }, { { 10, 13 } } })
  old, new = words.spans('é 𝄞 one', 'é 𝄞 two')
  H.equal({ old, new }, { { { 8, 11 } }, { { 8, 11 } } })
  H.equal({ words.spans('nothing_alike', 'x_is_1') }, { {}, {} })
  H.equal({ words.spans('', 'x') }, { {}, {} })
end)

H.run()
