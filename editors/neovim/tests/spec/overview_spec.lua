--- Tests the tab that :AgentReview opens: the list of files, the text around the hunks, and syntax
--- colors.
local H = require('harness')

vim.cmd('syntax on')

local go = 'package shop\n\nfunc Total() int {\n\ttotal := 0\n\treturn total\n}\n\n'
  .. 'func Free() bool {\n\treturn false\n}\n'
local page = '# Prices\n\nAll prices are in cents.\n'

local code = {
  path = 'cart.go',
  edits = {
    { old_string = '\ttotal := 0\n', new_string = '\ttotal := 100\n' },
    { old_string = 'false', new_string = 'true' },
  },
}
local prices = { path = 'docs/prices.md', old_string = 'cents', new_string = 'euros' }

--- Runs a turn that changes two files, and waits until its three hunks are pending. Under the
--- policy "ask", the turn waits for the user, so both files must be changed in one reply.
local function two_files(policy)
  local first, second = H.call('edit', code), H.call('edit', prices)
  local script = { first, second, { text = 'Done.' } }
  if policy == 'ask' then
    local a, b = first.toolCalls, second.toolCalls
    script = { { toolCalls = { a[1], b[1], a[2], b[2] } } }
  end
  H.start({
    files = { ['cart.go'] = go, ['docs/prices.md'] = page },
    settings = { editPolicy = policy or 'collect' },
    script = script,
  })
  H.edit('cart.go')
  vim.cmd('AgentPrompt go')
  if policy ~= 'ask' then
    H.turn()
  end
  H.hunks(3)
end

local function row_of(text)
  for i, line in ipairs(H.lines()) do
    if line == text then
      return i
    end
  end
  error(text .. ' is not in\n' .. table.concat(H.lines(), '\n'))
end

local function press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

H.case('the review begins with a list of files; Enter goes to the first hunk of a file', function()
  two_files()
  vim.cmd('AgentReview')
  local list = { '  cart.go         2 hunks  +2 -2', '  docs/prices.md  1 hunk   +1 -1', '' }
  H.equal(vim.list_slice(H.lines(), 3, 5), list)
  local colors = {}
  for _, span in ipairs(require('agent_lsp.sections').build({ '', '' }).marks[2].spans) do
    colors[span[3]] = list[1]:sub(span[1] + 1, span[2])
  end
  H.equal(colors, { AgentLspAdded = '+2', AgentLspRemoved = '-2' })
  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  press('<CR>')
  H.equal(vim.api.nvim_get_current_line(), '@@ line 3')
  H.equal(require('agent_lsp.review').at_cursor().hunk.newText, 'All prices are in euros.\n')
  H.settle()
  for _, n in ipairs(H.notices) do
    H.equal(n.text:find('no more hunks here', 1, true), nil, 'said in the review')
  end
  press('a')
  H.hunks(2)
  H.matches(H.lines()[3], '^cart.go, 2 hunks', 'one file needs no list')
end)

H.case('under every policy hunks are shown with context lines, and no line twice', function()
  for _, policy in ipairs({ 'ask', 'collect', 'review' }) do
    two_files(policy)
    vim.cmd('AgentReview')
    local first = row_of('cart.go, 2 hunks')
    H.equal(vim.list_slice(H.lines(), first, first + 14), {
      'cart.go, 2 hunks',
      '@@ line 4',
      ' package shop',
      ' ',
      ' func Total() int {',
      '-\ttotal := 0',
      '+\ttotal := 100',
      ' \treturn total',
      ' }',
      ' ',
      '@@ line 9',
      ' func Free() bool {',
      '-\treturn false',
      '+\treturn true',
      ' }',
    }, policy)
    first = row_of('docs/prices.md, 1 hunk') -- this file is not in a buffer
    H.equal(vim.list_slice(H.lines(), first + 1, first + 5), {
      '@@ line 3',
      ' # Prices',
      ' ',
      '-All prices are in cents.',
      '+All prices are in euros.',
    }, policy)
  end
end)

H.case('code in the review has syntax colors', function()
  two_files()
  vim.cmd('AgentReview')
  local row = row_of(' func Total() int {')
  require('agent_lsp.overview').want_colors(0, 40)
  local ns = vim.api.nvim_create_namespace('agent_lsp_overview_syntax')
  local marks = H.wait('the colors', function()
    local first, last = { row - 1, 0 }, { row - 1, -1 }
    local found = vim.api.nvim_buf_get_extmarks(0, ns, first, last, { details = true })
    return #found > 0 and found
  end)
  H.equal({ marks[1][3], marks[1][4].end_col }, { 1, 5 }, 'the word func')
  H.equal(vim.fn.hlexists(marks[1][4].hl_group), 1)
  local loaded = vim.tbl_filter(function(buf)
    return vim.bo[buf].filetype == 'go'
  end, vim.api.nvim_list_bufs())
  H.equal(loaded, { vim.fn.bufnr('cart.go') }, 'a buffer that a language server would attach to')
end)

H.case('a decision moves the cursor to the next hunk, also into the next file', function()
  two_files()
  vim.cmd('AgentReview')
  vim.api.nvim_win_set_cursor(0, { row_of('+\treturn true'), 0 })
  press('r')
  H.hunks(2)
  H.equal(vim.api.nvim_get_current_line(), '@@ line 3')
  H.equal(require('agent_lsp.review').at_cursor().hunk.newText, 'All prices are in euros.\n')
end)

H.run()
