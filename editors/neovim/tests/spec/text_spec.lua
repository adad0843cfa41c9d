--- Tests the text of answers: tables with aligned columns, and links to files, including names with
--- spaces.
local H = require('harness')
local tables = require('agent_lsp.tables')

local function draw(lines, room)
  return tables.draw(lines, room, function(out, body)
    vim.list_extend(out, body)
    return 0
  end)
end

H.case('a table is drawn with aligned columns', function()
  local rows = '| empty **basket** | 100 | 0 |\n| two | 7 | [7](a.md) |\n'
  local answer = 'Here:\n\n| case | `got` | want |\n|:--|--:|:-:|\n' .. rows .. '\nDone.'
  H.start({ script = { { text = answer, chunks = 5 } } })
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  local want =
    'case         │ got │ want\n─────────────┼─────┼─────\nempty basket │ 100 │  0\ntwo          │   7 │  7\n'
  H.wait('the table', function()
    return H.panel_text():find(want, 1, true)
  end)
  H.matches(H.panel_text(), 'Here:\n')
  H.matches(H.panel_text(), '\nDone%.')
end)

H.case(
  'a table that is too wide wraps its cells, and is drawn again when the width changes',
  function()
    local words = 'a rather long text that needs two or three lines of a narrow panel'
    local text = ('| n | text |\n|---|---|\n| 1 | %s |\n| 2 | x |\n'):format(words)
    H.start({ script = { { text = text } }, setup = { panel = { width = 40 } } })
    vim.cmd('AgentPrompt go')
    H.equal(H.turn().status, 'completed')
    local function table_lines()
      return vim.tbl_filter(function(l)
        return l:find('│') or l:find('─')
      end, vim.split(H.panel_text(), '\n'))
    end
    H.wait('the table', function()
      return #table_lines() > 4
    end)
    for _, line in ipairs(table_lines()) do
      H.equal(vim.api.nvim_strwidth(line) <= 40, true, line)
    end
    local before = #table_lines()
    vim.o.columns = 160
    vim.api.nvim_win_set_width(require('agent_lsp.transcript').window(), 90)
    vim.cmd.doautocmd('WinResized')
    H.wait('the wide table', function()
      return #table_lines() < before
    end)
    vim.o.columns = 80
  end
)

H.case('text that is not a table is unchanged', function()
  local same = {
    { 'a | b', 'no delimiter' },
    { '```', '| a | b |', '|---|---|', '```' },
    { '| a | b |', '|---|' },
    { '| a |' },
    { 'x', '---', 'y' },
  }
  for _, lines in ipairs(same) do
    H.equal((draw(lines, 40)), lines)
  end
end)

H.case('cells keep code, escaped bars and stars; missing cells are empty', function()
  local rows = { '| `x|y` | `2*3*4` |', '| p \\| q | 2 * 3 |', '| only |' }
  local lines = draw(vim.list_extend({ '| a | b |', '|---|---|' }, rows), 60)
  H.equal(lines[1]:match('^a +│ b'), lines[1])
  H.equal(lines[3], '`x    │ y`')
  H.equal(lines[4], 'p | q │ 2 * 3')
  H.equal(lines[5], 'only  │')
end)

H.case('a very long table is drawn quickly, and a very wide table does not hang', function()
  local lines = { '| a | b |', '|---|---|' }
  for i = 1, 2000 do
    lines[#lines + 1] = ('| row %d | %s |'):format(i, ('word '):rep(20))
  end
  local began = vim.uv.hrtime()
  H.equal(#draw(lines, 60) > 4000, true)
  H.equal((vim.uv.hrtime() - began) / 1e9 < 20, true)
  local many = ('| x '):rep(200) .. '|'
  H.equal(#draw({ many, (('|---'):rep(200)) .. '|', many }, 40), 3)
end)

H.case('gf opens a file with spaces in its name from a link, code or a call label', function()
  local text =
    'See [the notes](my%20notes.md#L2), `my notes.md:2`, vim://x and https://example.org/.'
  H.start({ files = { ['my notes.md'] = 'one\ntwo\n' }, script = { { text = text } } })
  local target = require('agent_lsp.target')
  local function at(line, word)
    vim.cmd.enew()
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { line })
    vim.api.nvim_win_set_cursor(0, { 1, line:find(word, 1, true) - 1 })
    local found = target.under_cursor(H.dir)
    vim.bo.modified = false
    return found
  end
  local want = { file = H.dir .. '/my notes.md', line = 2, name = 'my notes.md' }
  H.equal(at('See [the notes](my%20notes.md#L2).', 'notes]'), want)
  H.equal(at('See [x](<my notes.md:2>).', 'notes'), want)
  H.equal(at('In `my notes.md:2` it', 'notes'), want)
  H.equal(at('✓ `Read my notes.md:2`', 'Read'), want)
  H.equal(at('(my notes.md)', 'notes').file, nil)
  H.equal(at('see https://example.org/a:1, too', 'example').address, 'https://example.org/a:1')
  H.equal(at('see <https://example.org/a b>', 'example').name:find('https', 1, true), 1)
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  H.wait('the answer', function()
    return H.panel_text():find('my notes.md:2', 1, true)
  end)
  local opened = {}
  vim.ui.open = function(address)
    table.insert(opened, address)
  end
  for _, word in ipairs({ 'vim://x', 'example.org' }) do
    vim.fn.search(word)
    vim.api.nvim_feedkeys('gf', 'xt', false)
  end
  H.equal(opened, { 'https://example.org/' })
  vim.fn.search('the notes')
  vim.api.nvim_feedkeys('gf', 'xt', false)
  H.equal(vim.fs.basename(vim.api.nvim_buf_get_name(0)), 'my notes.md')
  H.equal(vim.api.nvim_win_get_cursor(0)[1], 2)
end)

H.run()
