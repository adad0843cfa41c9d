std = 'luajit'
cache = false
max_line_length = false
read_globals = { 'vim' }
globals = { 'vim.g', 'vim.v', 'vim.b', 'vim.o', 'vim.bo', 'vim.wo', 'vim.env', 'vim.opt', 'vim.notify', 'vim.ui', 'vim.ui.select', 'vim.ui.input' }
ignore = { '212/_.*' }
exclude_files = { 'lua/agent_lsp/protocol.lua' }
