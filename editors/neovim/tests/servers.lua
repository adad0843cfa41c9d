--- Starts and stops the editor's own language servers in a test.
local H = require('harness')

local S = {}

--- Stops all servers except the daemon.
function S.stop()
  for _, c in ipairs(vim.lsp.get_clients()) do
    if c.name ~= 'agent_lsp' then
      _ = H.new_api and c:stop(true) or not H.new_api and c.stop(true)
    end
  end
  vim.api.nvim_create_augroup('test_servers', { clear = true })
  H.wait('the end of the servers', function()
    return vim.iter(vim.lsp.get_clients()):all(function(c)
      return c.name == 'agent_lsp'
    end)
  end)
end

--- Starts a server for files of the given type, as a user's configuration would.
function S.serve(pattern, config)
  vim.cmd('filetype on')
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('test_servers', { clear = true }),
    pattern = pattern,
    callback = function(args)
      vim.lsp.start(vim.tbl_extend('force', { root_dir = H.dir }, config), { bufnr = args.buf })
    end,
  })
end

return S
