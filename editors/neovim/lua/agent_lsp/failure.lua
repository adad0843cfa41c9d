--- Shows errors in the transcript: a single line for all retries of a call, and the keys that can
--- resolve an error.
local events = require('agent_lsp.events')
local transcript = require('agent_lsp.transcript')

local M = {}

--- The first words of an error message, by the error's kind.
local openings = {
  auth = 'The API key is not valid',
  quota = 'The account has no credit left',
}

local key = { 'K', 'enter another API key' }
local model = { 'M', 'choose another model (:AgentModel)' }
local provider = { 'S', 'change the URL or the provider (:AgentSetup)' }

--- The transcript keys that can resolve an error, by the error's kind.
local helps = {
  auth = { key, model },
  quota = { model },
  rate_limit = { model },
  overloaded = { model },
  transient = { provider },
  client = { model, provider },
  content_filter = { model },
}

--- Removes the advice about shell variables from an error about a key.
---@param message string
---@return string
local function without_advice(message)
  return (message:gsub('%s*%(check the API key.-%)', ''))
end

--- Returns a message as a sentence of its own.
---@param message string
---@return string
local function capitalized(message)
  return message:sub(1, 1):upper() .. message:sub(2)
end

--- Describes an error that the setup received.
---@param message string
---@return string
function M.setup_text(message)
  return capitalized(without_advice(message))
end

--- Describes an error.
---@param err { kind?: string, message: string }
---@return string
function M.text(err)
  local opening, message = openings[err.kind], err.message
  if err.kind == 'auth' then
    message = without_advice(message)
    if message:find('^the API key of .+ is invalid') or message:find('^%S+ needs an API key') then
      return capitalized(message)
    end
    if vim.startswith(message, 'getting the API key') or message:find('is not set', 1, true) then
      opening = 'There is no API key'
    end
  end
  return opening and ('%s: %s'):format(opening, message) or message
end

--- Returns the keys that can resolve an error, with their actions.
---@param err { kind?: string }?
---@return { [1]: string, [2]: string }[]
function M.actions(err)
  return err and helps[err.kind] or {}
end

local note ---@type agent_lsp.PanelItem? the line of the call that is being retried

events.on('retry', function(p)
  if not transcript.ours(p) then
    return
  end
  local seconds = ('%.1f'):format(p.delayMs / 1000):gsub('%.0$', '')
  local again = ('trying again in %s s (%d of %d)'):format(seconds, p.attempt, p.maxRetries)
  local text = ('%s; %s'):format(p.error.message, again)
  if note and p.attempt > 1 then
    return transcript.change(note, text)
  end
  note = transcript.note(text, 'warning')
end)

for _, name in ipairs({ 'turn/started', 'session' }) do
  events.on(name, function()
    note = nil
  end)
end

return M
