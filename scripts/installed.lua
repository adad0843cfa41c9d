-- release.sh runs this script in a Neovim that has the plugin as a package. The script sends a
-- prompt and waits for the scripted model's answer.
local function shown(text)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if
      vim.api.nvim_buf_is_loaded(buf)
      and table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n'):find(text, 1, true)
    then
      return true
    end
  end
  return false
end

vim.cmd('AgentPrompt say hello')
local answered = vim.wait(240000, function()
  return shown('The script says hello.')
end, 50)
io.stdout:write(
  answered and 'release: the Neovim layout was installed and answered\n'
    or 'release: the Neovim layout did not answer\n'
)
vim.cmd(answered and 'qall!' or 'cquit')
