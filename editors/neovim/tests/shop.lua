--- Code that the picture and the recording share: Neovim's appearance, and a Go file next to the
--- panel.
local M = {}

--- Configures Neovim and opens the file. The script sets PLUGIN, WORKSPACE and AGENT_LSP_BIN.
---@param background 'light'|'dark'
---@param width integer columns of the panel
function M.open(background, width)
  vim.opt.runtimepath:prepend(vim.env.PLUGIN)
  vim.cmd.runtime('plugin/agent_lsp.lua')
  vim.o.termguicolors, vim.o.background = true, background
  vim.o.number, vim.o.signcolumn, vim.o.laststatus, vim.o.swapfile = true, 'yes', 2, false
  vim.o.tabstop, vim.o.shiftwidth, vim.o.ruler, vim.o.showcmd = 4, 4, false, false
  vim.o.statusline = " %f %m%=%{%v:lua.require'agent_lsp'.statusline()%} "
  vim.cmd('syntax enable')
  vim.cmd.cd(vim.env.WORKSPACE)
  require('agent_lsp').setup({
    cmd = { vim.env.AGENT_LSP_BIN },
    settings = { context = { window = 32000 } },
    panel = { width = width, input_height = 3 },
  })
  vim.cmd.edit('cart.go')
  require('agent_lsp').on('review', function(params)
    if params.count == 2 then
      vim.api.nvim_win_set_cursor(0, { 15, 0 })
    end
  end)
end

return M
