--- Draws the picture's content: a Go file with an unsaved change, two pending hunks, and the panel.
--- BACKGROUND is light or dark.
require('shop').open(vim.env.BACKGROUND, 56)
vim.api.nvim_buf_set_lines(
  0,
  1,
  1,
  false,
  { '// Package cart adds up what is in a basket. (unsaved)' }
)
vim.cmd.AgentPrompt(
  'Total ignores the quantity, and an empty basket should cost nothing. Please fix it.'
)
