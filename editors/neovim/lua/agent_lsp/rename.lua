--- Handles buffers that are renamed by :saveas, :file or a language server.
---
--- Neovim sends the new name to language servers only when the buffer is written, and never reports
--- that a file was renamed. This module immediately opens the new document in the daemon and closes
--- the old one. Pending changes to the old file move to the new name if the old file is gone, and
--- stay with the old file if it still exists.
local lsp = require('agent_lsp.lsp')

local M = {}

---@class agent_lsp.Leaving a buffer before it gets its new name
---@field uri string
---@field path string
---@field clients vim.lsp.Client[]

local leaving = {} ---@type table<integer, agent_lsp.Leaving>

local function text_of(buf)
  local ending = ({ unix = '\n', dos = '\r\n', mac = '\r' })[vim.bo[buf].fileformat]
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), ending)
    .. (vim.bo[buf].eol and ending or '')
end

--- Opens the document with the buffer's new name.
local function open(c, buf)
  lsp.notify(c, 'textDocument/didOpen', {
    textDocument = {
      uri = vim.uri_from_bufnr(buf),
      languageId = vim.bo[buf].filetype,
      version = vim.lsp.util.buf_versions[buf] or 0,
      text = text_of(buf),
    },
  })
  -- Store the new name in Neovim's change tracking. Otherwise, Neovim would close and open the
  -- document again when it writes the buffer, even if another buffer has the old name by then.
  pcall(function()
    require('vim.lsp._changetracking')._get_and_set_name(c, buf, vim.api.nvim_buf_get_name(buf))
  end)
end

local group = vim.api.nvim_create_augroup('agent_lsp_rename', { clear = true })

vim.api.nvim_create_autocmd('BufFilePre', {
  group = group,
  callback = function(args)
    local clients = vim.lsp.get_clients({ bufnr = args.buf, name = 'agent_lsp' })
    if #clients > 0 then
      leaving[args.buf] = {
        uri = vim.uri_from_bufnr(args.buf),
        path = vim.api.nvim_buf_get_name(args.buf),
        clients = clients,
      }
    end
  end,
})

--- Notifies a client of a buffer's new name. It opens the new document before it closes the old
--- one, so that one of the two is always open.
local function tell(c, buf, was, belongs)
  if belongs then
    open(c, buf)
  else
    vim.lsp.buf_detach_client(buf, c.id)
  end
  lsp.notify(c, 'textDocument/didClose', { textDocument = { uri = was.uri } })
  if not vim.uv.fs_stat(was.path) then
    lsp.notify(
      c,
      'workspace/didRenameFiles',
      { files = { { oldUri = was.uri, newUri = vim.uri_from_bufnr(buf) } } }
    )
  end
end

--- Watches for renamed buffers. belongs reports whether a buffer with its new name is a document of
--- the client. attach is called with each renamed buffer.
---@param belongs fun(buf: integer, client_id: integer): boolean
---@param attach fun(buf: integer)
function M.watch(belongs, attach)
  vim.api.nvim_create_autocmd('BufFilePost', {
    group = group,
    callback = function(args)
      local was = leaving[args.buf]
      leaving[args.buf] = nil
      for _, c in ipairs(was and was.uri ~= vim.uri_from_bufnr(args.buf) and was.clients or {}) do
        tell(c, args.buf, was, belongs(args.buf, c.id))
      end
      attach(args.buf)
    end,
  })
end

return M
