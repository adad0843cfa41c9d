--- What the transcript's windows hide: folds of thoughts and outputs, of which each window has its own, and what conceal
--- takes away.
local M = {}

--- Whether conceal hides whole lines.
M.hides_lines = vim.fn.has('nvim-0.11') == 1

--- Opens an item's folds before its lines are exchanged.
---@param item agent_lsp.PanelItem
---@param row integer of its first line, zero-based
function M.unfold(item, row)
  for win in pairs(item.folded or {}) do
    pcall(vim.api.nvim_win_call, win, function()
      vim.cmd(('silent! keepjumps normal! %dGzD'):format(row + item.fold[1]))
    end)
  end
  item.folded = nil
end

--- Closes an item's fold in the windows that have none of it yet.
---@param item agent_lsp.PanelItem
---@param row integer
---@param windows integer[]
function M.fold(item, row, windows)
  item.folded = item.folded or {}
  for _, win in ipairs(windows) do
    if not item.folded[win] then
      item.folded[win] = true
      vim.api.nvim_win_call(win, function()
        pcall(vim.cmd, ('silent %d,%dfold'):format(row + item.fold[1], row + item.fold[2]))
      end)
    end
  end
end

--- Runs fn without conceal in the transcript's windows: from 0.11 on Neovim parses each line that is set there at once,
--- for lines that conceal hides, which costs a hundred times what setting them does.
---@param windows integer[]
---@param fn fun()
function M.without_conceal(windows, fn)
  if not M.hides_lines then
    return fn()
  end
  local levels = {}
  for _, win in ipairs(windows) do
    levels[win] = vim.wo[win].conceallevel
    vim.wo[win][0].conceallevel = 0
  end
  local ok, err = pcall(fn)
  for win, level in pairs(levels) do
    vim.wo[win][0].conceallevel = level
  end
  if not ok then
    error(err, 0)
  end
end

--- Text of a closed fold.
function M.text()
  local line = vim.fn.getline(vim.v.foldstart)
  local n = vim.v.foldend - vim.v.foldstart + 1
  local prefix = line:match('^[│ ]*') or ''
  local what = line:find('> ', #prefix + 1, true) == #prefix + 1 and 'thought' or 'output'
  n = what == 'output' and prefix == '' and n - (M.hides_lines and 1 or 2) or n -- without the fences
  return { { prefix, 'AgentLspMeta' }, { ('▸ %s, %d %s'):format(what, n, n == 1 and 'line' or 'lines'), 'AgentLspMeta' } }
end

return M
