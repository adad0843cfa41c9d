--- Files that no window shows, loaded only so that the editor's language servers can be asked about
--- them.
---
--- To the agent such a file is closed: it is read from disk and written there. It becomes an open
--- document when the user shows it in a window, or something changes its text.
local fresh = require('agent_lsp.fresh')

local M = {}

--- Buffers kept loaded; the one asked about longest ago goes first.
local max_kept = 16
--- Larger files are not loaded: it would hold up the editor.
local max_size = 1024 * 1024

local kept = {} ---@type integer[]
local adopt ---@type fun(buf: integer)?

--- Whether a buffer was loaded by load and the user has not opened it since.
---@param buf integer
function M.is(buf)
  return vim.tbl_contains(kept, buf)
end

--- Calls fn with each buffer that the user opens.
---@param fn fun(buf: integer)
function M.on_adopt(fn)
  adopt = fn
end

local function forget(buf)
  kept = vim.tbl_filter(function(b)
    return b ~= buf
  end, kept)
end

--- From now on the buffer is an open document like any other.
local function give(buf)
  if M.is(buf) then
    forget(buf)
    vim.bo[buf].swapfile = vim.go.swapfile
    if adopt then
      adopt(buf)
    end
  end
end

--- The running server of the editor for such a file, other than agent-lsp.
local function server_for(path, filetype)
  for _, c in ipairs(vim.lsp.get_clients()) do
    local root = c.name ~= 'agent_lsp' and c.config.root_dir
    if root and vim.startswith(path, vim.fs.normalize(root) .. '/') then
      local types = c.config.filetypes
      local same = types and vim.tbl_contains(types, filetype)
      for buf in pairs(not types and c.attached_buffers or {}) do
        same = same or vim.bo[buf].filetype == filetype
      end
      if same then
        return c
      end
    end
  end
end

local function watch(buf)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if not M.is(buf) then
        return true
      end
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].modified then
          give(buf)
        end
      end)
    end,
    on_reload = function() end, -- it stays attached
  })
end

local function drop_oldest()
  while #kept > max_kept do
    local buf = table.remove(kept, 1)
    if
      vim.api.nvim_buf_is_valid(buf)
      and not vim.bo[buf].modified
      and vim.fn.bufwinid(buf) == -1
    then
      pcall(vim.api.nvim_buf_delete, buf, { unload = true })
    end
  end
end

--- Loads a file for the server that it belongs to; where there is none the buffer stays as it is.
---@param buf integer
function M.load(buf)
  local path = vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
  local stat, filetype =
    vim.uv.fs_stat(path), vim.filetype.match({ filename = path, buf = buf }) or ''
  local client = stat
    and stat.type == 'file'
    and stat.size <= max_size
    and server_for(path, filetype)
  if not client then
    return
  end
  table.insert(kept, buf)
  vim.bo[buf].swapfile, vim.bo[buf].autoread = false, true
  local ok = pcall(vim.fn.bufload, buf)
  if not ok or not vim.api.nvim_buf_is_loaded(buf) then
    return forget(buf)
  end
  if vim.bo[buf].filetype == '' then
    vim.bo[buf].filetype = filetype -- without filetype detection
  end
  vim.lsp.buf_attach_client(buf, client.id)
  fresh.expect(buf)
  watch(buf)
  drop_oldest()
end

--- Reads again what changed on disk, so that the servers answer for what is there.
function M.refresh()
  for _, buf in ipairs(kept) do
    if vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified then
      local tick = vim.b[buf].changedtick
      pcall(vim.cmd, 'silent! checktime ' .. buf)
      if vim.b[buf].changedtick ~= tick then
        fresh.expect(buf)
      end
    end
  end
end

local group = vim.api.nvim_create_augroup('agent_lsp_peek', { clear = true })

vim.api.nvim_create_autocmd('BufWinEnter', {
  group = group,
  callback = function(args)
    if vim.fn.win_gettype() ~= 'autocmd' then -- loading alone fires it too, in such a window
      give(args.buf)
    end
  end,
})

vim.api.nvim_create_autocmd({ 'BufUnload', 'BufDelete' }, {
  group = group,
  callback = function(args)
    forget(args.buf)
  end,
})

return M
