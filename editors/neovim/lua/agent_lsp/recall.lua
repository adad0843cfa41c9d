--- Adds the information that a loaded session's items do not contain: the diffs of its edits, an
--- entry for each of its restores, the summary of its last turn, and the key that continues a turn.
local client = require('agent_lsp.client')
local items = require('agent_lsp.items')
local panel = require('agent_lsp.panel')
local transcript = require('agent_lsp.transcript')

local M = {}

--- Requests the diffs of decided edits, which the replay does not send.
local function learn_edits(ws)
  local cards = require('agent_lsp.cards')
  for _, item in ipairs(items.list) do
    local id = item.data.proposalId
    if id and not cards.knows(id) then
      client.request('agent/proposal/get', { proposalId = id }, function(err, res)
        if err then
          cards.learn_from_call(item.data) -- an earlier daemon made this proposal
        else
          cards.learn(res)
        end
        transcript.touch(item)
      end, { workspace = ws })
    end
  end
end

---@param session string
---@param ws agent_lsp.Workspace
function M.run(session, ws)
  learn_edits(ws)
  local params = { sessionId = session, conversation = true }
  client.request('agent/checkpoint/list', params, function(err, res)
    if err or transcript.session ~= session then
      return
    end
    require('agent_lsp.restore').recall(res.checkpoints, ws)
    if panel.state.status == 'idle' then
      require('agent_lsp.changes').recall(res.checkpoints[1], ws)
      panel.state.broken = transcript.is_cut() or nil
    end
    transcript.touch_footer()
  end, { workspace = ws })
end

return M
