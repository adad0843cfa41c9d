--- Manages options that apply only to the next prompt: another model or thinking level.
local client = require('agent_lsp.client')
local log = require('agent_lsp.log')

local M = {}

local levels = { 'off', 'minimal', 'low', 'medium', 'high', 'xhigh' }

local options = {} ---@type agent_lsp.TurnOptions

--- Describes the options for the next prompt, or returns "" if there are no options.
function M.text()
  local parts = {}
  if options.model then
    table.insert(parts, options.model)
  end
  if options.thinking then
    table.insert(parts, 'thinking ' .. options.thinking)
  end
  return table.concat(parts, ', ')
end

--- Returns the options for a prompt and clears them, so that they do not apply to later prompts.
---@return agent_lsp.TurnOptions?
function M.take()
  local taken = options
  options = {}
  return next(taken) and taken or nil
end

--- Restores the options for a prompt that was not sent.
---@param taken agent_lsp.TurnOptions?
function M.restore(taken)
  options = taken or options
end

local function set(key, value)
  options[key] = value
  vim.cmd.redrawstatus({ bang = true })
  log.tell(('only for the next prompt: %s'):format(M.text()))
end

--- Sets the options that the user wrote as model=NAME or thinking=LEVEL.
local function parse(args)
  for word in args:gmatch('%S+') do
    local key, value = word:match('^(%w+)=(.+)$')
    if key == 'thinking' and not vim.list_contains(levels, value) then
      local all = table.concat(levels, ', ')
      return log.tell(('%s is not one of %s'):format(value, all), vim.log.levels.WARN)
    elseif key ~= 'model' and key ~= 'thinking' then
      local text = ('%s is not valid; use model=NAME or thinking=LEVEL'):format(word)
      return log.tell(text, vim.log.levels.WARN)
    end
    set(key, value)
  end
end

--- Lets the user choose the options, or applies the options in the arguments.
---@param args string
function M.choose(args)
  if args ~= '' then
    return parse(args)
  end
  local ws = client.workspace()
  local prompt = 'Only for the next prompt'
  vim.ui.select({ 'Model', 'Thinking' }, { prompt = prompt }, function(_, n)
    if n == 1 then
      require('agent_lsp.models').pick(ws, 'Model for the next prompt', function(m)
        set('model', m.id)
      end)
    elseif n == 2 then
      vim.ui.select(levels, { prompt = 'Thinking level for the next prompt' }, function(level)
        if level then
          set('thinking', level)
        end
      end)
    end
  end)
end

return M
