--- Changes the user's edit policy, and offers to change it when the first edit waits for a
--- decision.
local client = require('agent_lsp.client')
local config = require('agent_lsp.config')
local defaults = require('agent_lsp.defaults')
local log = require('agent_lsp.log')
local transcript = require('agent_lsp.transcript')

local M = {}

local policies = {
  { 'ask', 'Ask first: each edit waits for your decision' },
  { 'review', 'Apply edits; keep or undo each one afterwards' },
  { 'collect', 'Collect edits; nothing is applied until you accept it' },
  { 'auto', 'Apply edits without a review' },
}

--- The names for completion.
M.names = vim.tbl_map(function(p)
  return p[1]
end, policies)

local answered = {} ---@type table<string, boolean> whether the user has chosen, by session

local function words(name)
  for _, p in ipairs(policies) do
    if p[1] == name then
      return p[2]
    end
  end
end

--- Stops offering another policy in the session.
local function settle(ws)
  answered[ws.session or ''] = true
  transcript.touch_footer()
end

--- Reports whether the panel offers another policy. It does so while the agent waits for the user,
--- until the user has chosen a policy.
---@param session string?
---@param status string
function M.is_offered(session, status)
  local chosen = config.stored().editPolicy or defaults.is_fixed('editPolicy')
  if chosen or not session or answered[session] then
    return false
  end
  return status == 'awaiting'
end

--- Lets the user choose a policy, or applies the named one.
---@param name string
---@param default? boolean whether the named policy becomes the default
function M.pick(name, default)
  local ws = client.workspace()
  if name ~= '' then
    if not words(name) then
      local all = table.concat(M.names, ', ')
      return log.tell(('%s is not one of %s'):format(name, all), vim.log.levels.WARN)
    end
    local text = words(name) .. (default and '' or ', in this session')
    defaults[default and 'make_default' or 'set']('editPolicy', name, text, ws)
    return settle(ws)
  end
  require('agent_lsp.session').get(function(session, at)
    local params = { sessionId = session, config = vim.empty_dict() }
    client.request('agent/session/configure', params, function(err, res)
      if err then
        return log.tell(err, vim.log.levels.WARN)
      end
      local now = (res.config or {}).editPolicy or 'ask'
      vim.ui.select(policies, {
        prompt = 'Edit policy',
        format_item = function(p)
          return p[2] .. (p[1] == now and '  (now)' or '')
        end,
      }, function(p)
        if p then
          defaults.choose('editPolicy', p[1], p[2], ws, settle)
        end
      end)
    end, at)
  end, ws)
end

return M
