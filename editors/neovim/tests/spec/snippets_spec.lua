--- Runs the Lua code from the documentation pages, unchanged, if no other spec runs it.
local H = require('harness')

local repo = vim.fs.dirname(vim.fs.dirname(H.plugin))

--- Compiles the first Lua block after a sentence in a page.
local function snippet(path, sentence)
  local block = H.read(path):match(vim.pesc(sentence) .. '.-```lua\n(.-)```')
  return assert(
    loadstring(assert(block, ('%s shows no Lua behind "%s"'):format(path, sentence)), path)
  )
end

H.case('the mappings in the README exist in the plugin', function()
  snippet(H.plugin .. '/README.md', 'Examples of your own mappings:')()
  local count = 0
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    local target = (map.rhs or ''):match('^<Plug>%(agent%-lsp%-.+%)$')
    if target then
      count = count + 1
      H.equal(vim.fn.maparg(target, 'n') ~= '', true, target)
    end
  end
  H.equal(count, 4)
end)

H.case('the CodeCompanion example starts an agent that speaks ACP', function()
  local told, extended
  package.loaded['codecompanion'] = {
    setup = function(opts)
      told = opts
    end,
  }
  package.loaded['codecompanion.adapters'] = {
    extend = function(_, with)
      extended = with
    end,
  }
  snippet(repo .. '/docs/use/acp.md', 'Neovim with CodeCompanion')()
  H.equal(told.interactions.chat.adapter, 'agent_lsp')
  told.adapters.acp[told.interactions.chat.adapter]()
  H.equal(extended.name, 'agent_lsp')
  local command = extended.commands.default
  H.equal(table.remove(command, 1), 'agent-lsp')
  table.insert(command, 1, H.bin)
  local initialize = vim.json.encode({
    jsonrpc = '2.0',
    id = 1,
    method = 'initialize',
    params = { protocolVersion = 1, clientCapabilities = vim.empty_dict() },
  })
  local done = vim
    .system(command, { stdin = initialize .. '\n', text = true, cwd = H.workspace() })
    :wait(H.deadline)
  H.equal(vim.json.decode(vim.split(done.stdout, '\n')[1]).result.protocolVersion, 1)
end)

H.run()
