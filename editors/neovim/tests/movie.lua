--- What the film shows (movie.sh): a Go file, and the panel once it is needed.
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.cmd.runtime('plugin/agent_lsp.lua')
vim.o.termguicolors, vim.o.background = true, 'dark'
vim.o.number, vim.o.signcolumn, vim.o.laststatus, vim.o.swapfile = true, 'yes', 2, false
vim.o.tabstop, vim.o.shiftwidth, vim.o.ruler, vim.o.showcmd = 4, 4, false, false
vim.o.statusline = " %f %m%=%{%v:lua.require'agent_lsp'.statusline()%} "
vim.cmd('syntax enable')
vim.cmd.cd(vim.env.WORKSPACE)
require('agent_lsp').setup({
  cmd = { vim.env.AGENT_LSP_BIN },
  settings = { context = { window = 32000 } },
  panel = { width = 42, input_height = 3 },
})
vim.cmd.edit('cart.go')
require('agent_lsp').on('review', function(params)
  if params.count == 2 then
    vim.api.nvim_win_set_cursor(0, { 13, 0 })
  end
end)
