--- Tests that the user is asked once before a daemon starts in the home folder. If the home folder
--- is added to a workspace later, the daemon asks about it.
local H = require('harness')

local home = vim.env.HOME

local function start()
  H.start({ files = { ['notes.md'] = 'open words\n', ['secret.md'] = 'closed words\n' } })
  local function read(name)
    return { name = 'read', arguments = { path = H.dir .. '/' .. name } }
  end
  H.script({ { toolCalls = { read('notes.md'), read('secret.md') } }, { text = 'Done.' } })
  vim.env.HOME = H.dir
  H.edit('notes.md')
end

--- Returns the results of both calls, which run at the same time.
local function results()
  return table.concat(vim.tbl_map(
    function(p)
      return p.item.result
    end,
    H.all('item/completed', function(p)
      return p.item.type == 'toolCall'
    end)
  ))
end

H.case('the user is asked once about the home folder, and may allow only open files', function()
  start()
  H.choose('Only files that are open')
  vim.cmd('AgentPrompt look')
  H.equal(H.turn().status, 'completed')
  H.equal(#H.asked, 1)
  H.matches(H.asked[1].text, '^~ is your home folder, not a project')
  H.equal(H.asked[1].items, { 'Only files that are open in Neovim', 'All of ~' })
  H.matches(results(), 'open words')
  H.equal(results():find('closed words', 1, true), nil)
  vim.env.HOME = home
end)

H.case('the whole home folder is the workspace if the user allows it', function()
  start()
  H.choose('All of ~')
  vim.cmd('AgentPrompt look')
  H.equal(H.turn().status, 'completed')
  H.equal(#H.asked, 1)
  H.matches(results(), 'closed words')
  vim.env.HOME = home
end)

H.case('the panel asks about a wide folder that is added later', function()
  H.start({ files = { ['a.txt'] = 'one\n' } })
  local folder = H.workspace({ ['secret.md'] = 'closed words\n' })
  local read = { name = 'read', arguments = { path = folder .. '/secret.md' } }
  H.script({ { text = 'One.' }, { toolCalls = { read } }, { text = 'Done.' } })
  vim.env.HOME = folder
  H.edit('a.txt')
  vim.cmd('AgentPrompt one')
  H.equal(H.turn().status, 'completed')
  vim.lsp.buf.add_workspace_folder(folder)
  vim.cmd('AgentPrompt two')
  H.wait('the question', function()
    return H.panel_text():find('is your home folder', 1, true)
  end)
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.api.nvim_feedkeys(H.panel_text():match(' (%d)  Allow: use the whole folder'), 'xt', false)
  H.equal(H.turn(2).status, 'completed')
  H.matches(results(), 'closed words')
  vim.env.HOME = home
end)

H.case('a dismissed question starts nothing, and the next command asks again', function()
  start()
  H.choose(false)
  vim.cmd('AgentPrompt look')
  H.wait('the message', function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find('no workspace was chosen', 1, true)
    end)
  end)
  H.equal(#vim.lsp.get_clients({ name = 'agent_lsp' }), 0)
  H.choose('All of ~')
  vim.cmd('AgentPrompt look')
  H.equal(H.turn().status, 'completed')
  vim.env.HOME = home
end)

H.case(':checkhealth says that the current folder is the home folder', function()
  start()
  vim.cmd('checkhealth agent_lsp')
  H.matches(table.concat(H.lines(), '\n'), 'your home folder')
  vim.env.HOME = home
end)

H.case('a project in the home folder needs no question, but the folders above it do', function()
  local wide = require('agent_lsp.wide')
  vim.env.HOME = '/some/where'
  for _, root in ipairs({ '/', '/some', '/some/where' }) do
    H.equal(wide.is(root), true, root)
  end
  for _, root in ipairs({ '/some/where/x', '/som' }) do
    H.equal(wide.is(root), false, root)
  end
  vim.env.HOME = home
end)

H.run()
