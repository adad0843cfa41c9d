--- Errors in the transcript: one line for all retries of a call, and what helps.
local events = require('agent_lsp.events')
local transcript = require('agent_lsp.transcript')

local M = {}

--- The first words of an error of a kind, and what the user can do.
local helps = {
  auth = { 'The provider does not accept the API key', ':AgentSetup enters another one' },
  quota = { 'The account has no credit left', ':AgentModel chooses another model' },
  rate_limit = { nil, 'c tries again, :AgentModel chooses another model' },
  overloaded = { nil, 'c tries again, :AgentModel chooses another model' },
  transient = { nil, 'c tries again' },
  stream_idle = { nil, 'c tries again' },
}

--- An error in words: what failed, and what helps.
---@param err { kind?: string, message: string }
---@return string
function M.text(err)
  local help, message = helps[err.kind] or {}, err.message
  if err.kind == 'auth' then
    message = message:gsub('%s*%(check the API key.-%)', '') -- it names variables of a shell
  end
  local text = help[1] and ('%s: %s'):format(help[1], message) or message
  return help[2] and ('%s\n%s'):format(text, help[2]) or text
end

local note ---@type agent_lsp.PanelItem? the line of the call that is tried again

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
