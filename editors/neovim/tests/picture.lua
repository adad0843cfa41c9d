--- Draws the picture's content: a Go file with an unsaved change, two pending hunks, and the panel.
--- BACKGROUND is light or dark.
require('shop').open(vim.env.BACKGROUND, 56)
vim.api.nvim_buf_set_lines(0, 7, 7, false, { '\tQuantity int // at least 1' })
vim.cmd.AgentPrompt('Total and Count ignore the new field Quantity. Please use it in both.')
