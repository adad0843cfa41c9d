--- Tests several folders in one Neovim. Each workspace has its own daemon, and no data from one
--- workspace reaches another.
local H = require('harness')

--- Creates a second workspace, whose daemon plays its own script.
local function another(files, replies)
  local dir = H.workspace(files)
  vim.env.AGENT_LSP_SCRIPT = dir .. '-script.jsonl'
  H.write(
    vim.env.AGENT_LSP_SCRIPT,
    table.concat(vim.tbl_map(vim.json.encode, replies), '\n') .. '\n'
  )
  return dir
end

--- Returns the roots of the daemons to which a buffer is attached.
local function roots(buf)
  return vim.tbl_map(function(c)
    return c.config.root_dir
  end, vim.lsp.get_clients({ bufnr = buf, name = 'agent_lsp' }))
end

local function change(path, old, new)
  return H.call('edit', { path = path, old_string = old, new_string = new })
end

local function shows(text, not_that)
  H.wait('the panel with ' .. text, function()
    return H.panel_text():find(text, 1, true)
  end)
  H.equal(H.panel_text():find(not_that, 1, true), nil, 'the panel mixes the workspaces')
end

H.case(
  'each of two folders has its own daemon, and prompts, permissions and hunks are not mixed',
  function()
    local first = H.start({
      files = { ['a.txt'] = 'one\n' },
      script = {
        change('a.txt', 'one', 'ONE'),
        { text = 'Here it is done.' },
        { text = 'Here again.' },
      },
    })
    local a = H.edit('a.txt')
    vim.cmd('AgentPrompt this is for here')
    H.hunks(1)
    local second = another({ ['b.txt'] = 'two\n' }, {
      H.call('bash', { command = 'touch made-there' }),
      change('b.txt', 'two', 'TWO'),
      { expect = { lastTool = 'not like this' }, text = 'There it is left.' },
    })
    vim.cmd.edit(second .. '/b.txt')
    local b = vim.api.nvim_get_current_buf()
    vim.cmd('AgentPrompt this is for there')
    local permission = require('agent_lsp.permission')
    H.wait('the permission', function()
      return permission.list()[1]
    end)
    shows('this is for there', 'this is for here')
    H.equal({ roots(a), roots(b) }, { { first }, { second } })
    permission.answer(1)
    H.hunks(2)
    H.equal(
      { vim.fn.filereadable(first .. '/made-there'), vim.fn.filereadable(second .. '/made-there') },
      { 0, 1 }
    )
    vim.cmd('AgentReject not like this')
    H.matches(vim.inspect(H.event('turn/completed').turn.status), 'completed')
    shows('There it is left.', 'Here')
    H.equal({ H.lines(a), H.lines(b), H.hunks(1).count() }, { { 'one' }, { 'two' }, 1 })

    vim.cmd.buffer(a)
    vim.cmd('AgentAccept')
    H.turn(2)
    H.equal({ H.lines(a), H.lines(b) }, { { 'ONE' }, { 'two' } })
    shows('There it is left.', 'Here it is done.')
    vim.cmd('AgentPrompt once more for here')
    H.turn(3)
    shows('Here again.', 'for there')
    shows('Here it is done.', 'There')
    H.equal(require('agent_lsp.client').current().root, first)
    vim.cmd.buffer(b)
    vim.cmd('AgentToggle')
    vim.cmd('AgentToggle')
    shows('There it is left.', 'Here')
  end
)

H.case(
  "a question from another folder names the folder, and an abort stops the current buffer's turn",
  function()
    local first = H.start({
      files = { ['a.txt'] = 'one\n' },
      script = { H.call('bash', { command = 'touch here' }), { text = 'no' } },
    })
    local a = H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    local permission = require('agent_lsp.permission')
    H.wait('the first permission', function()
      return permission.list()[1]
    end)
    local second = another(
      { ['b.txt'] = 'two\n' },
      { H.call('bash', { command = 'touch there' }), { text = 'There is done.' } }
    )
    vim.cmd.edit(second .. '/b.txt')
    vim.cmd('AgentPrompt go')
    H.wait('the second permission', function()
      return permission.list()[2]
    end)
    H.wait('the second session', function()
      return require('agent_lsp.client').current().root == second
    end)
    H.matches(
      table.concat(permission.describe(permission.list()[1]), '\n'),
      'in [^\n]*' .. vim.pesc(vim.fs.basename(first))
    )
    H.equal(table.concat(permission.describe(permission.list()[2]), '\n'):find('in [/~]'), nil)
    vim.cmd.buffer(a)
    vim.cmd('AgentAbort')
    H.equal(H.turn().status, 'aborted')
    H.wait('the question of the stopped turn to go', function()
      return #permission.list() == 1
    end)
    H.equal(
      H.event('turn/completed').client_id,
      vim.lsp.get_clients({ bufnr = a, name = 'agent_lsp' })[1].id
    )
    permission.answer(1)
    H.equal(H.turn(2).status, 'completed')
    H.equal(
      { vim.fn.filereadable(first .. '/here'), vim.fn.filereadable(second .. '/there') },
      { 0, 1 }
    )
  end
)

H.case('an added folder and its open buffers belong to the same daemon', function()
  local second = H.workspace({ ['b.txt'] = 'two\n' })
  local first = H.start({
    files = { ['a.txt'] = 'one\n' },
    script = { { text = 'ok' }, change(second .. '/b.txt', 'two', 'TWO'), { text = 'Done.' } },
  })
  vim.cmd.edit(second .. '/b.txt')
  local b = vim.api.nvim_get_current_buf()
  H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.equal({ H.turn().status, roots(b) }, { 'completed', {} })
  vim.lsp.buf.add_workspace_folder(second)
  H.wait('the added folder', function()
    return #roots(b) == 1
  end)
  vim.cmd.buffer(b)
  vim.cmd('AgentPrompt change it')
  H.hunks(1)
  vim.cmd('AgentAccept!')
  H.equal(H.turn(2).status, 'completed')
  H.equal(
    { H.lines(b), roots(b), #vim.lsp.get_clients({ name = 'agent_lsp' }) },
    { { 'TWO' }, { first }, 1 }
  )
end)

H.case(
  '! decides the hunks of the current workspace; in the overview it decides all listed hunks',
  function()
    local first = H.start({
      files = { ['a.txt'] = 'one\n' },
      script = { change('a.txt', 'one', 'ONE'), { text = 'Here.' } },
    })
    local a = H.edit('a.txt')
    vim.cmd('AgentPrompt go')
    H.hunks(1)
    local second = another({ ['b.txt'] = 'two\n', ['c.txt'] = 'three\n' }, {
      change('b.txt', 'two', 'TWO'),
      { text = 'There.' },
      change('c.txt', 'three', 'THREE'),
      { text = 'There again.' },
    })
    vim.cmd.edit(second .. '/b.txt')
    local b = vim.api.nvim_get_current_buf()
    vim.cmd('AgentPrompt go')
    H.hunks(2)
    vim.cmd('AgentAccept!')
    H.turn()
    H.equal({ H.hunks(1).count(), H.lines(a), H.lines(b) }, { 1, { 'one' }, { 'TWO' } })
    H.wait('the word about the other folder', function()
      return vim.iter(H.notices):find(function(n)
        local where = 'another folder are still pending: [^,]*'
        return n.text:find(where .. vim.pesc(vim.fs.basename(first)))
      end)
    end)
    vim.cmd('AgentPrompt once more')
    H.hunks(2)
    vim.cmd('AgentReview')
    vim.cmd('AgentAccept!')
    H.hunks(0)
    H.turn(3)
    H.equal({ H.lines(a), H.read(second .. '/c.txt') }, { { 'ONE' }, 'THREE\n' })
  end
)

H.run()
