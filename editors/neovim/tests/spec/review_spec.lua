--- Pending hunks in real buffers: what is drawn, decided and left alone.
local H = require('harness')

local ten = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'

--- Starts a case whose model makes the edits in a.txt and then says so.
local function edits(list, opts)
  opts = opts or {}
  local pairs_of = {}
  for i = 1, #list, 2 do
    table.insert(pairs_of, { old_string = list[i], new_string = list[i + 1] })
  end
  return H.start(vim.tbl_deep_extend('force', {
    files = { ['a.txt'] = ten },
    script = { H.call('edit', { path = 'a.txt', edits = pairs_of }), { text = 'Done.' } },
  }, opts))
end

local function namespace_marks(buf)
  return vim.api.nvim_buf_get_extmarks(buf or 0, require('agent_lsp.draw').namespace, 0, -1, { details = true })
end

local function virtual_lines(buf)
  local out = {}
  for _, m in ipairs(namespace_marks(buf)) do
    for _, line in ipairs(m[4].virt_lines or {}) do
      table.insert(
        out,
        (table
          .concat(vim.tbl_map(function(c)
            return c[1]
          end, line))
          :gsub('%s+$', '')) -- it reaches to the edge
      )
    end
  end
  return out
end

local function go(row)
  vim.api.nvim_win_set_cursor(0, { row, 0 })
end

local function replace(t, i, text)
  t = vim.deepcopy(t)
  t[i] = text
  return t
end

H.case('hunks of an unsaved buffer are decided one by one; other changes, cursor, marks, folds and registers survive', function()
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
  H.equal(H.lines(buf), { 'one', 'two', 'three', 'four', 'five, unsaved', 'six', 'seven', 'eight', 'NINE', 'NINE AND A HALF', 'ten' })
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
end)

H.case('a proposed line that is longer than the window is wide is shown whole, whatever its width becomes', function()
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
end)

H.case('one decision is one undo step, and undo and redo go across an accept', function()
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

H.case('undo and redo with hunks still pending keep them where their text is', function()
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
  H.equal(vim.list_slice(H.lines(vim.fn.bufnr('a.txt')), 1, 4), { 'one', 'Two', 'and a bit', 'three' })
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
  H.equal(H.lines(), { 'one', 'TWO', 'three', 'four', 'FIVE', 'six', 'seven', 'eight', 'nine', 'ten' })
end)

H.case(']h and [h walk the hunks, also into other files, only while there are some', function()
  H.start({
    files = { ['a.txt'] = ten, ['b.txt'] = ten },
    settings = { editPolicy = 'collect' },
    script = {
      H.call(
        'edit',
        { path = 'a.txt', edits = { { old_string = 'two\n', new_string = 'TWO\n' }, { old_string = 'nine\n', new_string = 'NINE\n' } } }
      ),
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
    table.insert(seen, vim.fs.basename(vim.api.nvim_buf_get_name(0)) .. vim.api.nvim_win_get_cursor(0)[1])
  end
  H.equal(seen, { 'a.txt2', 'a.txt9', 'b.txt5', 'a.txt2' })
  vim.cmd.normal('[h')
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 5)
  vim.cmd('AgentAccept!')
  H.hunks(0)
  H.wait('b.txt', function()
    return H.lines(vim.fn.bufnr('b.txt'))[5] == 'FIVE'
  end)
  H.equal(vim.fn.maparg(']h', 'n'), '')
end)

H.case('the quickfix list and the overview show all pending hunks, and decide them', function()
  H.start({
    files = { ['a.txt'] = ten, ['b.txt'] = ten },
    settings = { editPolicy = 'collect' },
    script = {
      H.call(
        'edit',
        { path = 'a.txt', edits = { { old_string = 'two\n', new_string = 'TWO\n' }, { old_string = 'nine\n', new_string = 'NINE\n' } } }
      ),
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
    'a.txt, 2 hunks\n@@ line 2\n%-two\n%+TWO\n@@ line 9\n%-nine\n%+NINE\n\nnew.txt %(create%), 1 hunk\n@@ line 1\n%+new'
  )
  vim.api.nvim_feedkeys('a', 'xt', false)
  H.hunks(2)
  vim.cmd.normal(']h')
  vim.api.nvim_feedkeys('A', 'xt', false)
  H.hunks(0)
  H.wait('the new file', function()
    return vim.fn.filereadable(H.dir .. '/new.txt') == 1
  end)
  H.equal(H.lines(), { 'Nothing waits for a decision.' })
  vim.api.nvim_feedkeys('q', 'xt', false)
  H.equal(vim.fn.tabpagenr('$'), 1)
  H.equal(H.lines(vim.fn.bufnr('a.txt'))[9], 'NINE')
end)

H.case('the diff shows both sides; an edited proposal is accepted as it was edited', function()
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
  H.equal(
    H.lines(vim.fn.bufnr('a.txt')),
    { 'one', 'Two', 'and a half', 'three', 'four', 'five', 'six, by me', 'seven', 'eight', 'NINE', 'ten' }
  )
  H.wait('the tab to close', function()
    return vim.fn.tabpagenr('$') == 1
  end)
end)

H.case('in review policy the text is in the buffer, and a rejected hunk goes back', function()
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

H.case('typing elsewhere shifts a hunk; typing inside makes it stale, and it can be rejected', function()
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
end)

H.case('a hidden buffer is changed in place, with its unsaved text', function()
  edits({ 'two\n', 'TWO\n' })
  vim.o.hidden = true
  local buf = H.edit('a.txt')
  vim.api.nvim_buf_set_lines(buf, 4, 5, false, { 'five, unsaved' })
  vim.cmd('enew')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal({ H.lines(buf)[2], H.lines(buf)[5] }, { 'TWO', 'five, unsaved' })
  H.equal(H.read(H.dir .. '/a.txt'), ten)
  H.equal(vim.fn.win_findbuf(buf), {})
end)

H.case('an unloaded buffer is a closed file', function()
  edits({ 'two\n', 'TWO\n' })
  local buf = H.edit('a.txt')
  vim.cmd('enew')
  vim.cmd('bunload ' .. buf)
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(H.read(H.dir .. '/a.txt'), (ten:gsub('two', 'TWO')))
end)

H.case('two windows on one buffer keep their places', function()
  edits({ 'two\n', 'TWO\nTWO AGAIN\n' })
  local buf = H.edit('a.txt')
  local first = vim.api.nvim_get_current_win()
  vim.cmd('split')
  local second = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_cursor(first, { 8, 2 })
  vim.api.nvim_win_set_cursor(second, { 2, 0 })
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept')
  H.equal(H.turn().status, 'completed')
  H.equal(vim.api.nvim_win_get_cursor(first), { 9, 2 })
  H.equal(vim.api.nvim_get_current_win(), second)
  H.equal(H.lines(buf)[9], 'eight')
end)

H.case(':e! gives back the file and keeps the hunks that still fit', function()
  edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
  local buf = H.edit('a.txt')
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, { 'zero' })
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  vim.cmd('silent edit!')
  H.request('agent/status', {})
  H.hunks(2)
  H.wait('the hunks in their places', function()
    local rows = require('agent_lsp.draw').rows(buf)
    return #rows == 2 and rows[1].row == 1 and rows[2].row == 8
  end)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal({ H.lines(buf)[2], H.lines(buf)[9] }, { 'TWO', 'NINE' })
end)

H.case('a deleted buffer with pending hunks: they are decided on disk', function()
  edits({ 'two\n', 'TWO\n', 'nine\n', 'NINE\n' })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  vim.api.nvim_buf_delete(buf, { force = true })
  H.request('agent/status', {})
  vim.cmd('AgentReview')
  vim.api.nvim_feedkeys('a', 'xt', false)
  H.hunks(1)
  vim.api.nvim_feedkeys('r', 'xt', false)
  H.equal(H.turn().status, 'completed')
  H.equal(H.read(H.dir .. '/a.txt'), (ten:gsub('two', 'TWO')))
end)

H.case('a CRLF file with a BOM keeps both, byte for byte', function()
  local crlf = '\239\187\191' .. ten:gsub('\n', '\r\n')
  edits({ 'two\n', 'TWO\nmore\n', 'ten\n', 'TEN\n' }, { files = { ['a.txt'] = crlf } })
  local buf = H.edit('a.txt')
  H.equal({ vim.bo[buf].fileformat, vim.bo[buf].bomb }, { 'dos', true })
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  H.equal(virtual_lines(), { 'TWO', 'more', 'TEN' })
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  vim.cmd('silent write')
  H.equal(H.read(H.dir .. '/a.txt'), (crlf:gsub('two', 'TWO\r\nmore'):gsub('ten', 'TEN')))
end)

H.case('a closed CRLF file with a BOM keeps both', function()
  local crlf = '\239\187\191' .. ten:gsub('\n', '\r\n')
  edits({ 'two\n', 'TWO\nmore\n' }, { files = { ['a.txt'] = crlf } })
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(H.read(H.dir .. '/a.txt'), (crlf:gsub('two', 'TWO\r\nmore')))
end)

for _, encoding in ipairs({ 'utf-8', 'utf-16' }) do
  H.case('positions beyond the BMP in ' .. encoding, function()
    edits({ '𝄞 x = 1 𝄞', '𝄞 y = 2 𝄞' }, {
      files = { ['a.txt'] = '𝄞𝄞 head\n𝄞𝄞 é 𝄞 x = 1 𝄞 tail 𝄞' },
      setup = { position_encodings = { encoding } },
    })
    local buf = H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(1)
    H.equal(require('agent_lsp.client').running().offset_encoding, encoding)
    vim.api.nvim_buf_set_text(buf, 0, 4, 0, 8, { '漢𝄞𝄞' })
    vim.cmd('AgentAccept!')
    H.equal(H.turn().status, 'completed')
    H.equal(H.lines(buf), { '𝄞漢𝄞𝄞 head', '𝄞𝄞 é 𝄞 y = 2 𝄞 tail 𝄞' })
  end)
end

H.case('the last line without a newline, an empty file, and a file that ends', function()
  edits({ 'two', 'TWO\nTHREE' }, { files = { ['a.txt'] = 'one\ntwo' } })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  H.equal(virtual_lines(), { 'TWO', 'THREE' })
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines(buf), { 'one', 'TWO', 'THREE' })
  H.start({
    files = { ['a.txt'] = '' },
    script = { H.call('read', { path = 'a.txt' }), H.call('write', { path = 'a.txt', content = 'first\nsecond\n' }), { text = 'Done.' } },
  })
  buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(vim.list_slice(H.lines(buf), 1, 2), { 'first', 'second' })
  H.equal(H.panel_text():find('changed on disk'), nil, 'an empty file is told to have changed')
  edits({ 'ten\n', 'ten\neleven\n' })
  buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(vim.list_slice(H.lines(buf), 10), { 'ten', 'eleven' })
end)

H.case('files are created, and one open unsaved under that name is edited in its buffer', function()
  H.start({
    script = { H.call('read', { path = 'new.txt' }), H.call('write', { path = 'new.txt', content = 'made\n' }), { text = 'Done.' } },
  })
  local buf = H.edit('new.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines(buf)[1], 'made')
end)

H.case('what differs between two lines is found word by word', function()
  local words = require('agent_lsp.words')
  local old, new = words.spans('local x = foo(1)', 'local x = bar(1)')
  H.equal({ old, new }, { { { 10, 13 } }, { { 10, 13 } } })
  old, new = words.spans('é 𝄞 one', 'é 𝄞 two')
  H.equal({ old, new }, { { { 8, 11 } }, { { 8, 11 } } })
  H.equal({ words.spans('nothing_alike', 'x_is_1') }, { {}, {} })
  H.equal({ words.spans('', 'x') }, { {}, {} })
end)

H.run()
