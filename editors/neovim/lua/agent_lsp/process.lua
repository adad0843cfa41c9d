--- Starts the daemon's process with Neovim's own client and changes two things. If a daemon refuses
--- to start, the user sees the reason. Neovim alone would show a stack trace and leave the process
--- running. If a daemon ends, only the plugin reports it. Neovim alone would add two lines that
--- cause the "Press ENTER" prompt while the user is typing.
local M = {}

---@class agent_lsp.Process how the process ended
---@field code? integer
---@field signal? integer
---@field refused? string why the daemon did not start

--- Describes how the process ended.
---@param p agent_lsp.Process
function M.ending(p)
  return (p.signal or 0) ~= 0 and ('signal %d'):format(p.signal) or ('code %d'):format(p.code or 0)
end

--- Returns a request function that ends the process instead of passing a refused initialize to
--- Neovim.
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

--- Returns the function that replaces the command in vim.lsp.start, and a table in which that
--- function stores how the process ended.
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
