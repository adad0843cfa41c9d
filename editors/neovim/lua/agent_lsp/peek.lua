--- Manages files that no window shows and that are loaded only to query the editor's language
--- servers.
---
--- The agent treats such a file as closed and reads and writes it on disk. The file becomes an open
--- document when the user shows it in a window, or when its text changes in the editor.
local fresh = require('agent_lsp.fresh')

local M = {}

--- The maximum number of buffers that stay loaded. The least recently queried buffer is unloaded
--- first.
local max_kept = 16
--- Larger files are not loaded, because loading would block the editor.
local max_size = 1024 * 1024

local kept = {} ---@type integer[]
local adopt ---@type fun(buf: integer)?

--- Reports whether load loaded a buffer and the user has not opened it since.
---@param buf integer
function M.is(buf)
  return vim.tbl_contains(kept, buf)
end

--- Registers fn, which is called with each loaded buffer that the user opens.
---@param fn fun(buf: integer)
function M.on_adopt(fn)
  adopt = fn
end

local function forget(buf)
  kept = vim.tbl_filter(function(b)
    return b ~= buf
  end, kept)
end

--- Makes the buffer an ordinary open document.
local function give(buf)
  if M.is(buf) then
    forget(buf)
    vim.bo[buf].swapfile = vim.go.swapfile
    if adopt then
      adopt(buf)
    end
  end
end

--- Returns one of the editor's running servers, other than agent-lsp, that handles the file.
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
    on_reload = function() end, -- the client stays attached on reload
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

--- Loads a file for the server that handles it. If there is no such server or the file is too
--- large, the buffer stays unchanged.
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
    vim.bo[buf].filetype = filetype -- Neovim did not detect the file type
  end
  vim.lsp.buf_attach_client(buf, client.id)
  fresh.expect(buf)
  watch(buf)
  drop_oldest()
end

--- Reloads the files that changed on disk, so that the servers answer for their current content.
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
    -- Loading a buffer also fires the event, in an autocommand window.
    if vim.fn.win_gettype() ~= 'autocmd' then
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
