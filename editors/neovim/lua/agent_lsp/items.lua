--- Stores the transcript's items in order, as the daemon last sent them. Other modules render them.
local M = {}

--- The maximum number of bytes of a running tool's output that are kept.
local max_live = 8192

---@class agent_lsp.PanelItem
---@field id string
---@field data agent_lsp.Item as last sent by the daemon
---@field text string
---@field parts string[] deltas that have not been appended to text yet
---@field output string live output of a tool
---@field depth integer nesting depth of the sub-agent that it belongs to
---@field done boolean
---@field dirty boolean
---@field drawn? string the plain text in the buffer
---@field columns? integer the window width for which its tables were drawn
---@field mark? integer
---@field lines integer number of lines in the buffer
---@field fold? { [1]: integer, [2]: integer }
---@field folded? table<integer, boolean> the windows in which its fold exists

M.list = {} ---@type agent_lsp.PanelItem[]
M.by_id = {} ---@type table<string, agent_lsp.PanelItem>

---@param id string
---@param data agent_lsp.Item
---@return agent_lsp.PanelItem
function M.new(id, data)
  local item = { id = id, data = data, text = '', parts = {}, output = '' }
  item.depth, item.done, item.lines = 0, false, 0
  return item
end

function M.clear()
  M.list, M.by_id = {}, {}
end

--- Converts a wire time to a string that sorts chronologically. The fraction of a wire time has a
--- variable number of digits.
local function moment(iso)
  local second, fraction = (iso or ''):match('^([%d%-]+T[%d:]+)%.?(%d*)')
  return second and second .. (fraction .. '000000000'):sub(1, 9) or ''
end

--- Reports whether one item began after another.
local function is_later(item, other)
  return moment(item.data.createdAt) > moment(other.data.createdAt)
end

--- Returns the index after which to insert a call, so that it precedes the calls that began later.
--- A loaded session lists parallel calls in the order in which they ended.
local function before_later_calls(item, at)
  for i = at, 1, -1 do
    local other = M.list[i]
    if other.depth < item.depth then
      break
    elseif other.depth == item.depth then
      if other.data.type ~= 'toolCall' or not is_later(other, item) then
        break
      end
      at = i - 1
    end
  end
  return at
end

--- Inserts a new item after its sub-agent's other items, or at the end.
---@param item agent_lsp.PanelItem
function M.insert(item)
  local parent = item.data.parentItemId and M.by_id[item.data.parentItemId]
  local at = #M.list
  item.depth = parent and parent.depth + 1 or 0
  for i, other in ipairs(parent and M.list or {}) do
    if other == parent then
      at = i
      while M.list[at + 1] and M.list[at + 1].depth > parent.depth do
        at = at + 1
      end
      break
    end
  end
  if item.data.type == 'toolCall' then
    at = before_later_calls(item, at)
  end
  table.insert(M.list, at + 1, item)
end

--- Inserts a note that the client created, at the position of its time or, if it has no time, at
--- the end.
---@param item agent_lsp.PanelItem
function M.insert_note(item)
  local at = #M.list
  for i = #M.list, item.data.createdAt and 1 or #M.list + 1, -1 do
    local other = M.list[i]
    if other.depth == 0 and other.data.createdAt then
      if not is_later(other, item) then
        break
      end
      at = i - 1
    end
  end
  table.insert(M.list, at + 1, item)
end

--- Stores an item that the daemon sent.
---@param data agent_lsp.Item
---@param done boolean
---@return agent_lsp.PanelItem
function M.take(data, done)
  local item = M.by_id[data.itemId]
  if not item then
    item = M.new(data.itemId, data)
    M.by_id[data.itemId] = item
    M.insert(item)
  end
  if data.label == data.name and item.data.label then
    data.label = item.data.label -- after a crash, an interrupted call is sent without its label
  end
  item.data, item.done = data, done
  local have = #item.text + #table.concat(item.parts)
  if type(data.text) == 'string' and (done or #data.text > have) then
    item.text, item.parts = data.text, {}
  end
  return item
end

--- Appends a delta to an item.
---@param id string
---@param kind string
---@param text string
---@return agent_lsp.PanelItem?
function M.delta(id, kind, text)
  local item = M.by_id[id]
  if not item then
    return nil
  end
  if kind == 'toolOutput' then
    item.output = (item.output .. text):sub(-max_live)
  elseif kind ~= 'toolInput' then
    item.parts[#item.parts + 1] = text
  end
  return item
end

--- Sets which of the user's messages are pinned, and returns those that changed.
---@param ids string[]
---@return agent_lsp.PanelItem[]
function M.set_pinned(ids)
  local now, changed = {}, {}
  for _, id in ipairs(ids) do
    now[id] = true
  end
  for _, item in ipairs(M.list) do
    if (item.data.pinned or false) ~= (now[item.id] or false) then
      item.data.pinned = now[item.id]
      table.insert(changed, item)
    end
  end
  return changed
end

--- Reports whether the user has sent a message since a time.
---@param created string
function M.prompted_since(created)
  return vim.iter(M.list):any(function(item)
    return item.data.type == 'userMessage' and moment(item.data.createdAt) > moment(created)
  end)
end

--- Marks the calls that were running when the daemon died as cancelled, and returns them.
---@return agent_lsp.PanelItem[]
function M.interrupt()
  local changed = {}
  for _, item in ipairs(M.list) do
    if not item.done and item.data.type == 'toolCall' then
      item.data.status, item.done = 'cancelled', true
      table.insert(changed, item)
    end
  end
  return changed
end

--- Returns the innermost item that the predicate accepts: item itself, or an item that contains it.
---@param item agent_lsp.PanelItem?
---@param predicate fun(item: agent_lsp.PanelItem): boolean
---@return agent_lsp.PanelItem?
function M.enclosing(item, predicate)
  while item and not predicate(item) do
    item = item.data.parentItemId and M.by_id[item.data.parentItemId] or nil
  end
  return item
end

return M
