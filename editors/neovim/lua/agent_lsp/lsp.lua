--- Calls the functions of Neovim's LSP clients, which became methods in 0.11, in the same way on
--- all versions.
local M = {}

local new_api = vim.fn.has('nvim-0.11') == 1

---@param c vim.lsp.Client
---@param method string
---@param params table?
---@param fn? function
---@param buf? integer
---@return boolean sent
function M.request(c, method, params, fn, buf)
  if new_api then
    return c:request(method, params, fn, buf)
  end
  return c.request(method, params, fn, buf)
end

---@param c vim.lsp.Client
---@param method string
---@param params table?
function M.notify(c, method, params)
  if new_api then
    return c:notify(method, params)
  end
  return c.notify(method, params)
end

---@param c vim.lsp.Client
---@param method string
---@param buf? integer
function M.supports(c, method, buf)
  if new_api then
    return c:supports_method(method, buf)
  end
  return c.supports_method(method, buf and { bufnr = buf })
end

---@param c vim.lsp.Client
function M.stop(c)
  if new_api then
    return c:stop()
  end
  return c.stop()
end

return M
