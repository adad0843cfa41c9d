--- Asks the user before the home folder or the root of the file system becomes a workspace, because
--- the agent could then read and search all of it.
local M = {}

local function real(path)
  return vim.fs.normalize(vim.uv.fs_realpath(path) or path)
end

--- Reports whether a folder is the root of the file system, the home folder or a parent of the home
--- folder.
---@param root string
function M.is(root)
  root = real(root)
  local home = real(vim.uv.os_homedir() or '/')
  return root == home or root == '/' or vim.startswith(home, root .. '/')
end

--- Asks the user which files the agent may work on.
---@param root string
---@param fn fun(scope: 'open'|'all'|nil) nil if the user closed the question
function M.ask(root, fn)
  local name = root == '/' and 'the root of the file system' or 'your home folder'
  local shown = vim.fn.fnamemodify(root, ':~')
  shown = shown == '~/' and '~' or shown
  vim.ui.select({ 'Only files that are open in Neovim', 'All of ' .. shown }, {
    prompt = ('%s is %s, not a project. What may the agent read and change?'):format(shown, name),
    kind = 'agent_lsp',
  }, function(_, n)
    fn(({ 'open', 'all' })[n])
  end)
end

return M
