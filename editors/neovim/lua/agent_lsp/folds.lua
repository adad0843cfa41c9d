--- Manages the hidden parts of the transcript's windows: concealed text, and the folds of thoughts
--- and outputs. Each window has its own folds.
local M = {}

--- Whether conceal hides complete lines.
M.hides_lines = vim.fn.has('nvim-0.11') == 1

--- Opens an item's folds before its lines are replaced.
---@param item agent_lsp.PanelItem
---@param row integer the row of its first line, zero-based
function M.unfold(item, row)
  for win in pairs(item.folded or {}) do
    pcall(vim.api.nvim_win_call, win, function()
      vim.cmd(('silent! keepjumps normal! %dGzD'):format(row + item.fold[1]))
    end)
  end
  item.folded = nil
end

--- Creates an item's fold, closed, in the windows where it does not exist yet.
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

--- Runs fn with conceal off in the transcript's windows. Since version 0.11, Neovim parses each new
--- line to find the lines that conceal hides, which takes a hundred times as long as setting the
--- line.
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

--- Returns the first words of a thought, up to the given width in columns.
---@param line string
---@param room integer
function M.first_words(line, room)
  line = vim.trim(line:gsub('[%*_`#]', ''))
  if line == '' then
    return 'thought'
  end
  local cut = vim.fn.strcharpart(line, 0, math.max(10, room))
  return cut ~= line and vim.trim(cut:match('^(.*)%s') or cut) .. ' …' or line
end

--- Returns the text of a closed fold.
function M.text()
  local line = vim.fn.getline(vim.v.foldstart)
  local n = vim.v.foldend - vim.v.foldstart + 1
  local prefix = line:match('^[│ ]*') or ''
  local what = line:find('> ', #prefix + 1, true) == #prefix + 1 and 'thought' or 'output'
  -- The fences do not count as lines.
  n = what == 'output' and prefix == '' and n - (M.hides_lines and 1 or 2) or n
  local size = ('%d %s'):format(n, n == 1 and 'line' or 'lines')
  local room = vim.api.nvim_win_get_width(0) - #size - #prefix - 8
  local thought = ('%s (%s)'):format(M.first_words(line:sub(#prefix + 3), room), size)
  local text = what == 'thought' and thought or ('%s, %s'):format(what, size)
  return { { prefix, 'AgentLspMeta' }, { '▸ ' .. text, 'AgentLspMeta' } }
end

return M
