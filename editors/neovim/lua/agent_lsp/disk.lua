--- Keeps buffers and their files consistent. It saves buffers without a blocking prompt, and
--- reloads buffers whose files a command changed.
local events = require('agent_lsp.events')
local log = require('agent_lsp.log')

local M = {}

local group = vim.api.nvim_create_augroup('agent_lsp_disk', { clear = true })

--- Neovim asks before it overwrites a file that has changed on disk while its buffer has unsaved
--- changes. It reports the change only once, so the plugin remembers it until the buffer is written
--- or reloaded.
local differs = {} ---@type table<integer, boolean>

vim.api.nvim_create_autocmd('FileChangedShellPost', {
  group = group,
  callback = function(args)
    differs[args.buf] = vim.bo[args.buf].modified or nil
  end,
})

vim.api.nvim_create_autocmd({ 'BufWritePost', 'BufReadPost', 'BufUnload' }, {
  group = group,
  callback = function(args)
    differs[args.buf] = nil
  end,
})

--- Checks whether a buffer's file has changed on disk. If so, it reloads the buffer, unless the
--- buffer has unsaved changes or the file was deleted. It never asks the user.
local function look(buf)
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    group = group,
    buffer = buf,
    callback = function()
      local keep = vim.bo[buf].modified or vim.v.fcs_reason == 'deleted'
      vim.v.fcs_choice = keep and '' or 'reload'
      differs[buf] = vim.bo[buf].modified and vim.v.fcs_reason ~= 'deleted' or nil
    end,
  })
  pcall(vim.cmd, 'silent! checktime ' .. buf)
  pcall(vim.api.nvim_del_autocmd, id)
end

--- Writes a buffer as :write does, and runs the same autocommands. If :write would ask the user a
--- question, the buffer is not written.
---@param buf integer
---@return boolean written
function M.write(buf)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return false
  end
  look(buf)
  if differs[buf] then
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.')
    log.tell(
      ('%s changed in the buffer and on disk and was not saved; use :write! or :edit!'):format(name),
      vim.log.levels.WARN
    )
    return false
  end
  local confirm = vim.o.confirm
  vim.o.confirm = false -- makes :write fail instead of asking
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd('silent write')
  end)
  vim.o.confirm = confirm
  if not ok then
    log.error(('cannot save %s: %s'):format(vim.api.nvim_buf_get_name(buf), err))
  end
  return ok
end

--- Frequently used tools that do not change files. Buffers are reloaded after a call of any other
--- tool.
local harmless = {
  read = true,
  grep = true,
  glob = true,
  lsp = true,
  plan = true,
  ask_user = true,
  present_plan = true,
}

local waiting = false

--- Reports whether Neovim reloads the buffer automatically.
local function autoread(buf)
  local own = vim.bo[buf].autoread -- nil if the buffer has no local value
  if own == nil then
    return vim.go.autoread
  end
  return own
end

--- Reloads the unchanged buffers whose files changed on disk, as Neovim does when it gains focus.
--- Neovim itself would also ask about changed buffers.
function M.reread()
  waiting = false
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local file = vim.api.nvim_buf_is_loaded(buf)
      and vim.bo[buf].buftype == ''
      and vim.api.nvim_buf_get_name(buf) ~= ''
    if file and autoread(buf) and not vim.bo[buf].modified then
      look(buf)
    end
  end
end

events.on('item/completed', function(params)
  local item = params.item
  if item.type == 'toolCall' and not harmless[item.name] and not params.replay and not waiting then
    waiting = true
    vim.schedule(M.reread)
  end
end)

return M
