--- Describes the session's state in the bars of the panel's windows and in the status line.
local labels = require('agent_lsp.labels')
local permission = require('agent_lsp.permission')
local render = require('agent_lsp.render')
local transcript = require('agent_lsp.transcript')

local M = {}

--- Returns the used share of the context in percent, or nil if the share is unknown or rounds to
--- zero.
---@param state agent_lsp.PanelState
---@return integer?
local function percent(state)
  if (state.contextTokens or 0) > 0 and (state.contextWindow or 0) > 0 then
    local share = math.min(1, state.contextTokens / state.contextWindow)
    local rounded = math.floor(100 * share + 0.5)
    return rounded > 0 and rounded or nil
  end
end

--- Returns the status line's texts about open questions and hunks, and the number of questions.
local function open_decisions()
  local parts = {}
  local questions = #permission.list()
  if questions > 0 then
    table.insert(
      parts,
      questions .. (questions == 1 and ' question (:AgentAnswer)' or ' questions (:AgentAnswer)')
    )
  end
  local hunks = require('agent_lsp.hunks').count()
  if hunks > 0 then
    local words = hunks == 1 and ' hunk' or ' hunks'
    table.insert(parts, hunks .. words .. (questions == 0 and ' to decide' or ''))
  end
  return parts, questions
end

--- Returns the statusline component. It contains the pending decisions. If no question is pending,
--- it also contains the state, unless the session is idle or waits for the decisions on hunks. If
--- no decision is pending, it also contains the used share of the context. It is short, because
--- Neovim truncates the file name in a status line that is too long.
---@param state agent_lsp.PanelState
function M.statusline(state)
  local parts, questions = open_decisions()
  if questions > 0 then
    return table.concat(parts, ', ')
  end
  local used = #parts == 0 and percent(state)
  if state.status ~= 'idle' and (#parts == 0 or state.status ~= 'awaiting') then
    table.insert(parts, 1, labels.status[state.status])
  end
  if used then
    table.insert(parts, ('context %d%%%%'):format(used))
  end
  return #parts > 0 and 'agent: ' .. table.concat(parts, ', ') or ''
end

--- Returns a title, cut to the given number of columns, for a window bar.
local function fit(text, columns)
  return (render.cut(render.line(text), columns):gsub('%%', '%%%%'))
end

--- Returns the used share of the context as text for a window bar.
local function gauge(state)
  local used = percent(state)
  return used and ('%%#AgentLspMeta#context %d%%%% '):format(used) or ''
end

local function cost(state)
  local usage = state.usage
  if not usage or not usage.cost or usage.cost == 0 then
    return ''
  end
  return ('%%#AgentLspMeta#$%.4f '):format(usage.cost)
end

--- Returns the cost and the used share of the context.
local function figures(state)
  local left, right = cost(state), gauge(state)
  return left .. (left ~= '' and right ~= '' and '· ' or '') .. right
end

local status_groups =
  { running = 'AgentLspRunning', awaiting = 'AgentLspWaiting', paused = 'AgentLspWaiting' }

local function width_of(bar)
  return vim.api.nvim_eval_statusline(bar, { use_winbar = true, maxwidth = 1000 }).width
end

--- Draws the window bars with the state, title, cost and context. A narrow window omits the title,
--- then the cost, then the context, so that the state stays whole. If the title does not fit, the
--- status line below the transcript shows it.
---@param state agent_lsp.PanelState
function M.draw(state)
  local status = (' %%#%s#%s%%* '):format(
    status_groups[state.status] or 'AgentLspMeta',
    (state.status == 'idle' and '○ ' or '● ') .. labels.status[state.status]
  )
  for _, win in ipairs(transcript.windows()) do
    local width, rest = vim.api.nvim_win_get_width(win), figures(state)
    for _, shorter in ipairs({ gauge(state), '' }) do
      if width_of(status .. rest) > width then
        rest = shorter
      end
    end
    local room = width - width_of(status .. '· ' .. rest) - 1
    local title = state.title or ''
    local titled = title ~= '' and room >= 8 -- a shorter title is not helpful
    local bar = titled and status .. '· ' .. fit(title, room) or status
    vim.wo[win][0].winbar = bar .. '%=' .. rest
    local whole = title == '' or vim.api.nvim_strwidth(render.line(title)) <= room
    vim.wo[win][0].statusline = ' ' .. (whole and 'agent-lsp' or fit(title, width - 2))
  end
end

return M
