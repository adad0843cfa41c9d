--- Runs the unchanged snippet from docs/use/editors.md in a Neovim without the plugin.
local H = require('harness')

local text = H.read(vim.fs.dirname(vim.fs.dirname(H.plugin)) .. '/docs/use/editors.md')
local section =
  assert(text:match('### Without the plugin(.-)\n## '), 'docs/use/editors.md has no such section')
local blocks = {}
for block in section:gmatch('```lua\n(.-)```') do
  table.insert(blocks, block)
end
local snippet = table.concat(blocks)

local function start(opts)
  H.start(vim.tbl_extend('force', { setup = { cmd = { '/nonexistent' } } }, opts))
  local bin = H.dir .. '-bin'
  vim.fn.mkdir(bin, 'p')
  vim.uv.fs_symlink(H.bin, bin .. '/agent-lsp')
  vim.env.PATH = bin .. ':' .. vim.env.PATH
  if opts.config then
    H.write(H.dir .. '-config/agent-lsp/config.json', vim.json.encode(opts.config))
    vim.env.XDG_CONFIG_HOME = H.dir .. '-config'
  end
  assert(loadstring(snippet, 'snippet'))()
end

local function ended(n)
  local status = 0
  vim.api.nvim_create_autocmd('LspProgress', {
    callback = function(args)
      local value = (args.data.params or args.data.result).value
      status = value.kind == 'end' and status + 1 or status
    end,
  })
  return function()
    H.wait('the end of the turn', function()
      return status >= (n or 1)
    end)
  end
end

H.case('the setup and the commands together have fewer than fifteen lines', function()
  H.equal(#blocks, 2)
  H.equal(select(2, snippet:gsub('\n', '')) < 15, true)
end)

H.case('a prompt shows progress and hints for its hunks, and code actions decide them', function()
  H.does('prompt', 'watch', 'review', 'undo')
  start({
    files = { ['a.txt'] = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n' },
    script = {
      H.call('edit', {
        path = 'a.txt',
        edits = {
          { old_string = 'two\n', new_string = 'TWO\n' },
          { old_string = 'eight\n', new_string = 'EIGHT\n' },
        },
      }),
      { text = 'Done.' },
    },
  })
  local buf = H.edit('a.txt')
  vim.api.nvim_buf_set_lines(buf, 4, 5, false, { 'five, unsaved' })
  local wait = ended()
  H.wait('the client', function()
    local c = vim.lsp.get_clients({ bufnr = buf })[1]
    return c and c.initialized
  end)
  vim.cmd('Agent change two and eight')
  H.wait('the hints', function()
    return #vim.diagnostic.get(buf) == 2
  end)
  H.equal(
    vim.tbl_map(function(d)
      return d.lnum
    end, vim.diagnostic.get(buf)),
    { 1, 7 }
  )
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.cmd('AgentAccept')
  H.wait('the accepted hunk', function()
    return H.lines(buf)[2] == 'TWO' and #vim.diagnostic.get(buf) == 1
  end)
  vim.api.nvim_win_set_cursor(0, { 8, 0 })
  vim.cmd('AgentReject')
  wait()
  H.equal(
    H.lines(buf),
    { 'one', 'TWO', 'three', 'four', 'five, unsaved', 'six', 'seven', 'eight', 'nine' }
  )
  H.wait('the hints to go', function()
    return #vim.diagnostic.get(buf) == 0
  end)
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(a)
      return a.title:find('undo its last', 1, true) ~= nil
    end,
  })
  H.wait('the undone change', function()
    return H.lines(buf)[2] == 'two' and H.lines(buf)[5] == 'five, unsaved'
  end)
end)

H.case('a permission is requested with vim.ui.select', function()
  H.does('permit')
  start({
    files = { ['a.txt'] = 'one\n' },
    config = { sandbox = 'off' },
    script = { H.call('bash', { command = 'touch made' }), { text = 'Done.' } },
  })
  local buf = H.edit('a.txt')
  local wait = ended()
  H.wait('the client', function()
    local c = vim.lsp.get_clients({ bufnr = buf })[1]
    return c and c.initialized
  end)
  H.choose('^Allow')
  vim.cmd('Agent go')
  wait()
  H.matches(H.asked[1].text, 'touch made')
  H.equal(vim.fn.filereadable(H.dir .. '/made'), 1)
end)

H.case('a turn can be stopped', function()
  H.does('stop')
  start({
    files = { ['a.txt'] = 'one\n' },
    script = { H.call('edit', { path = 'a.txt', old_string = 'one', new_string = 'ONE' }) },
  })
  local buf = H.edit('a.txt')
  local wait = ended()
  H.wait('the client', function()
    local c = vim.lsp.get_clients({ bufnr = buf })[1]
    return c and c.initialized
  end)
  vim.cmd('Agent go')
  H.wait('the hint', function()
    return #vim.diagnostic.get(buf) == 1
  end)
  vim.cmd('Agent!')
  wait()
  H.wait('the hint to go', function()
    return #vim.diagnostic.get(buf) == 0
  end)
  H.equal(H.lines(buf), { 'one' })
end)

H.run()
