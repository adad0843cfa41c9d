--- Tests renames of files with pending hunks, by a language server, the user or the agent.
local H = require('harness')

local text = 'one\ntwo\nthree\nfour\nfive\nsix\n'

local function begin(opts)
  H.start(vim.tbl_extend('force', {
    files = { ['a.txt'] = text },
    script = {
      H.call('edit', {
        path = 'a.txt',
        edits = {
          { old_string = 'two', new_string = 'TWO' },
          { old_string = 'six', new_string = 'SIX' },
        },
      }),
      { text = 'Done.' },
      H.call('read', { path = 'b.txt' }),
      { text = 'Read.' },
    },
  }, opts or {}))
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(2)
  return buf
end

--- Returns the rows at which hunks are drawn in a buffer.
local function drawn(buf)
  return vim.tbl_map(function(r)
    return r.row
  end, require('agent_lsp.draw').rows(buf))
end

local function marks(buf)
  return #vim.api.nvim_buf_get_extmarks(buf, require('agent_lsp.draw').namespace, 0, -1, {})
end

--- Returns the base names of the files with pending hunks.
local function files()
  local out = {}
  for _, uri in ipairs(require('agent_lsp.hunks').uris()) do
    table.insert(out, vim.fs.basename(uri))
  end
  return out
end

local function moved()
  H.wait('the hunks at the new name', function()
    return vim.deep_equal(files(), { 'b.txt' })
  end)
end

H.case(
  'hunks of a file that a language server renames move along and are decided under the new name',
  function()
    local buf = begin()
    vim.api.nvim_buf_set_lines(buf, 0, 0, false, { 'zero' })
    vim.cmd.lua({
      ('vim.lsp.util.rename(%q, %q)'):format(H.dir .. '/a.txt', H.dir .. '/b.txt'),
      mods = { silent = true },
    })
    moved()
    H.equal(drawn(buf), { 2, 6 })
    vim.api.nvim_win_set_cursor(0, { 3, 0 })
    vim.cmd('AgentAccept')
    H.hunks(1)
    vim.cmd('AgentReject!')
    H.equal(H.turn().status, 'completed')
    H.equal(H.lines(buf), { 'zero', 'one', 'TWO', 'three', 'four', 'five', 'six' })
    H.equal({ marks(buf), vim.fn.filereadable(H.dir .. '/a.txt') }, { 0, 0 })
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'unsaved' })
    vim.cmd('AgentPrompt read it')
    H.equal(H.turn(2).status, 'completed')
    H.matches(
      H.event('item/completed', function(p)
        return p.item.name == 'read' and p.item.result:find('unsaved')
      end).item.result,
      'TWO'
    )
  end
)

H.case(
  'a copy under another name has no hunks; they stay with the original and are decided there',
  function()
    local buf = begin()
    vim.cmd('silent saveas ' .. vim.fn.fnameescape(H.dir .. '/b.txt'))
    H.equal({ drawn(buf), marks(buf), files() }, { {}, 0, { 'a.txt' } })
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'unsaved' })
    H.equal(drawn(buf), {})
    vim.cmd.normal(']h')
    H.matches(vim.api.nvim_buf_get_name(0), 'a.txt$', 'where ]h goes')
    vim.cmd('buffer ' .. buf .. ' | bwipeout #')
    vim.cmd('AgentAccept!')
    H.equal(H.turn().status, 'completed')
    H.equal(H.read(H.dir .. '/a.txt'), 'one\nTWO\nthree\nfour\nfive\nSIX\n')
    H.equal(H.lines(buf), { 'unsaved', 'two', 'three', 'four', 'five', 'six' })
    vim.cmd('AgentPrompt read it')
    H.turn(2)
    H.equal(#H.all('item/completed', function(p)
      return p.item.name == 'read' and p.item.result:find('unsaved')
    end) == 1, true, 'the copy is not an open document')
  end
)

H.case(
  'a rename with :file takes effect before a write, and the hunks stay with the old name',
  function()
    local buf = begin()
    vim.cmd('silent file ' .. vim.fn.fnameescape(H.dir .. '/b.txt'))
    H.equal({ drawn(buf), files() }, { {}, { 'a.txt' } })
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'unsaved' })
    vim.cmd('split')
    local old = H.edit('a.txt')
    H.equal({ drawn(old), drawn(buf) }, { { 1, 5 }, {} })
    vim.cmd('AgentAccept!')
    H.equal(H.turn().status, 'completed')
    H.equal(H.lines(old), { 'one', 'TWO', 'three', 'four', 'five', 'SIX' })
    H.equal(H.lines(buf), { 'unsaved', 'two', 'three', 'four', 'five', 'six' })
    vim.cmd('wincmd p')
    vim.cmd('silent write')
    vim.cmd('AgentPrompt read it')
    H.turn(2)
    H.equal(H.read(H.dir .. '/b.txt'), 'unsaved\ntwo\nthree\nfour\nfive\nsix\n')
  end
)

H.case('hunks of a file that was never written move to its new name', function()
  H.start({
    script = {
      H.call('edit', { path = 'a.txt', old_string = 'two', new_string = 'TWO' }),
      { text = 'Done.' },
    },
  })
  local buf = H.edit('a.txt')
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { 'one', 'two' })
  vim.cmd('AgentPrompt go')
  H.hunks(1)
  vim.cmd('silent saveas ' .. vim.fn.fnameescape(H.dir .. '/b.txt'))
  moved()
  H.equal(drawn(buf), { 1 })
  vim.cmd('AgentAccept!')
  H.equal(H.turn().status, 'completed')
  H.equal(H.lines(buf), { 'one', 'TWO' })
end)

H.case(
  'when the agent renames a file with applied hunks, they are drawn under the new name',
  function()
    local patch =
      '*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-four\n+FOUR\n*** End Patch'
    local buf = begin({
      settings = { editPolicy = 'review' },
      script = {
        H.call('edit', {
          path = 'a.txt',
          edits = {
            { old_string = 'two', new_string = 'TWO' },
            { old_string = 'six', new_string = 'SIX' },
          },
        }),
        { toolCalls = { { name = 'apply_patch', arguments = { patch = patch } } } },
        { text = 'Done.' },
      },
    })
    H.equal(H.turn().status, 'completed')
    moved()
    H.equal(vim.fs.basename(vim.api.nvim_buf_get_name(buf)), 'b.txt')
    H.equal(H.lines(buf), { 'one', 'TWO', 'three', 'FOUR', 'five', 'SIX' })
    H.equal(drawn(buf), { 0, 1, 5 }, 'the note about the name, and two hunks')
    vim.cmd('AgentReview')
    local shown = H.lines()
    H.equal(shown[3], 'b.txt (was a.txt), 3 hunks')
    H.matches(
      table.concat(shown, '|'),
      '|%-two|%+TWO|.*|@@ line 1|%-four|%+FOUR|',
      'of the rename what differs'
    )
    vim.cmd('bwipeout')
    vim.api.nvim_win_set_cursor(0, { 2, 0 })
    vim.cmd('AgentReject')
    H.wait('the old line', function()
      return H.lines(buf)[2] == 'two'
    end)
  end
)

H.run()
