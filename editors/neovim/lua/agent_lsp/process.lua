--- The daemon's process, framed by Neovim's own client, with two improvements: if a daemon refuses
--- to start, the user sees why (Neovim shows a stack trace and leaves the process running), and if
--- one ends, only the plugin reports it (Neovim shows two lines more, and with them a prompt for a
--- key in the middle of typing).
local M = {}

---@class agent_lsp.Process what becomes of it
---@field code? integer
---@field signal? integer
---@field refused? string why the daemon did not start

--- Its end as words.
---@param p agent_lsp.Process
function M.ending(p)
  return (p.signal or 0) ~= 0 and ('signal %d'):format(p.signal) or ('code %d'):format(p.code or 0)
end

--- The request function, which lets no refusal of initialize through to Neovim.
local function guarded(rpc, process)
  local request = rpc.request
  return function(method, params, callback, ...)
    local function answer(err, result)
      if err then
        process.refused = err.message or tostring(err)
        return rpc.terminate()
      end
      return callback(err, result)
    end
    return request(method, params, method == 'initialize' and answer or callback, ...)
  end
end

--- The function that vim.lsp.start takes instead of a command, and a table that it fills with facts
--- about the process.
---@param cmd string[]
---@param env? table<string, string> added to Neovim's own environment
---@param cwd string its working directory
---@return fun(dispatchers: vim.lsp.rpc.Dispatchers): vim.lsp.rpc.PublicClient
---@return agent_lsp.Process
function M.command(cmd, env, cwd)
  local process = {}
  return function(dispatchers)
    local on_exit = dispatchers.on_exit
    dispatchers.on_exit = function(code, signal)
      process.code, process.signal = code, signal
      return on_exit(0, 0)
    end
    local rpc = vim.lsp.rpc.start(cmd, dispatchers, { env = env, cwd = cwd })
    rpc.request = guarded(rpc, process)
    return rpc
  end,
    process
end

return M
