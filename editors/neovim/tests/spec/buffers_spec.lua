--- Tests hunks in buffers and files of every kind: buffers that are hidden, unloaded, deleted,
--- reloaded or shown in two windows, and files whose bytes must not change.
local H = require('harness')
local R = require('review')

local ten = R.ten
local edits = R.edits
local virtual_lines = R.virtual_lines

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

H.case('two windows on one buffer keep their cursors at the same text', function()
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

H.case(':e! reloads the file and keeps the hunks that still match', function()
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

H.case('pending hunks of a deleted buffer are decided on disk', function()
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

H.case('edits work in an unterminated last line, an empty file and at the end of a file', function()
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
    script = {
      H.call('read', { path = 'a.txt' }),
      H.call('write', { path = 'a.txt', content = 'first\nsecond\n' }),
      { text = 'Done.' },
    },
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

H.case('a new file whose name is already open is written to that buffer', function()
  H.start({
    script = {
      H.call('read', { path = 'new.txt' }),
      H.call('write', { path = 'new.txt', content = 'made\n' }),
      { text = 'Done.' },
    },
  })
  local buf = H.edit('new.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines(buf)[1], 'made')
end)

H.case(
  'a proposed file is shown in its own buffer, which becomes the file when it is accepted',
  function()
    local text = 'first\n\tsecond\n'
    H.start({
      files = { ['a.txt'] = 'one\n' },
      script = {
        H.call('write', { path = 'new.txt', content = text }),
        H.call('edit', { path = 'new.txt', old_string = 'first', new_string = 'FIRST' }),
        { text = 'Done.' },
      },
    })
    H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    local review = H.hunks(1)
    review.jump(1)
    H.matches(vim.api.nvim_buf_get_name(0), 'new%.txt$')
    local buf = vim.api.nvim_get_current_buf()
    vim.bo.tabstop = 4
    require('agent_lsp.draw').buffer_hunks(buf, true)
    H.equal(virtual_lines(), { 'first', '    second' })
    vim.cmd('AgentAccept')
    H.wait('the file', function()
      return vim.deep_equal(H.lines(buf), { 'first', '\tsecond' })
    end)
    H.equal(H.read(H.dir .. '/new.txt'), text)
    H.event('proposal/closed') -- until then, the first hunk counts as pending
    H.hunks(1) -- the second edit changes an open document
    vim.cmd('AgentAccept!')
    H.equal(H.turn().status, 'completed')
    H.equal(H.lines(buf), { 'FIRST', '\tsecond' })
    H.equal(H.read(H.dir .. '/new.txt'), text, 'the file on disk')
  end
)

H.run()
