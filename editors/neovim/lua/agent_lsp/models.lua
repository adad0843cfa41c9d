--- Shows the list of models, in which the current model is marked. Each entry includes the context
--- window, prices and capabilities.
local client = require('agent_lsp.client')
local log = require('agent_lsp.log')

local M = {}

local function thousands(n)
  if n >= 1000000 then
    return (('%.1f'):format(n / 1000000):gsub('%.0$', '')) .. 'M'
  end
  return n >= 1000 and ('%dk'):format(math.floor(n / 1000 + 0.5)) or tostring(n)
end

local function dollars(n)
  return '$' .. (('%.2f'):format(n):gsub('%.00$', ''))
end

--- Returns a model's known capabilities.
---@param m agent_lsp.Model
local function abilities(m)
  local can = {}
  if m.tools ~= nil then
    table.insert(can, m.tools and 'tools' or 'no tools')
  end
  if m.vision then
    table.insert(can, 'images')
  end
  if m.thinking and #m.thinking > 0 then
    table.insert(can, 'thinking')
  end
  return can
end

--- Describes a model, for example "200k tokens, $3 in and $15 out per million tokens, tools,
--- images".
---@param m agent_lsp.Model
function M.figures(m)
  local parts = {}
  if m.contextWindow then
    table.insert(parts, thousands(m.contextWindow) .. ' tokens')
  end
  if m.cost then
    local input, output = dollars(m.cost.input), dollars(m.cost.output)
    table.insert(parts, ('%s in and %s out per million tokens'):format(input, output))
  end
  return table.concat(vim.list_extend(parts, abilities(m)), ', ')
end

--- Returns a model's entry in the list.
---@param m agent_lsp.Model
---@param current string? reference of the current model
function M.entry(m, current)
  local figures = M.figures(m)
  local is_current = current and (m.id == current or m.provider .. '/' .. m.id == current)
  local aside = figures ~= '' and ('  (%s)'):format(figures) or ''
  return (is_current and '● ' or '  ') .. m.id .. aside
end

--- Calls fn with the session's current model, or with nil if the model is unknown.
---@param ws agent_lsp.Workspace
---@param fn fun(ref: string?)
function M.current(ws, fn)
  if not ws.session then
    return fn(nil)
  end
  local params = { sessionId = ws.session, config = vim.empty_dict() }
  client.request('agent/session/configure', params, function(_, res)
    fn(res and res.config and res.config.model)
  end, { workspace = ws })
end

--- Lets the user choose a model.
---@param ws agent_lsp.Workspace
---@param prompt string
---@param fn fun(m: agent_lsp.Model)
---@param only? fun(m: agent_lsp.Model): boolean
function M.pick(ws, prompt, fn, only)
  client.request('agent/models', {}, function(err, res)
    if err then
      return log.tell(err, vim.log.levels.WARN)
    end
    local models = only and vim.tbl_filter(only, res.models) or res.models
    if #models == 0 then
      return log.tell('the provider lists no models', vim.log.levels.WARN)
    end
    M.current(ws, function(current)
      vim.ui.select(models, {
        prompt = prompt,
        format_item = function(m)
          return M.entry(m, current)
        end,
      }, function(m)
        if m then
          fn(m)
        end
      end)
    end)
  end, { workspace = ws })
end

return M
