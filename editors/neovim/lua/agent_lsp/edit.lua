--- Handles workspace/applyEdit. It refuses an edit if a buffer is not modifiable, if a document is
--- no longer open, or if a document's version differs from the current one. Neovim's handler
--- applies the edit, because it preserves marks, folds and the cursor, and creates one undo step.
local fresh = require('agent_lsp.fresh')

local M = {}

--- Returns the reason why a buffer cannot be changed, or nil.
---@param buf integer
---@return string?
function M.locked(buf)
  if vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modifiable then
    return ("the buffer of %s is 'nomodifiable'"):format(
      vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':.')
    )
  end
end

--- Returns the reason why an edit does not fit the current buffers, or nil.
local function mismatch(client_id, edit)
  for uri in pairs(edit.changes or {}) do
    local why = M.locked(vim.uri_to_bufnr(uri))
    if why then
      return why
    end
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    local doc = change.textDocument
    local version = doc and doc.version
    local buf = doc and vim.uri_to_bufnr(doc.uri)
    local why = buf and M.locked(buf)
    if why then
      return why
    end
    if version and version ~= vim.NIL then
      local have = vim.lsp.util.buf_versions[buf]
      if not vim.lsp.buf_is_attached(buf, client_id) then
        -- The user would not notice an edit in a buffer that is not open.
        return ('%s is no longer open'):format(vim.fn.bufname(buf))
      elseif have and have ~= version then
        return ('%s is at version %d, but the edit is for version %d'):format(
          vim.fn.bufname(buf),
          have,
          version
        )
      end
    end
  end
end

function M.handle(err, params, ctx, conf)
  local why = params and mismatch(ctx.client_id, params.edit)
  if why then
    return { applied = false, failureReason = why }
  end
  -- Neovim's handler would print the label in the command line for each decision.
  params.label = nil
  local answer = vim.lsp.handlers['workspace/applyEdit'](err, params, ctx, conf)
  for _, change in ipairs(params.edit.documentChanges or {}) do
    if change.textDocument then
      fresh.expect(vim.uri_to_bufnr(change.textDocument.uri))
    end
  end
  return answer
end

return M
