--- Highlights the items of the transcript.
local M = {}

local colors = vim.api.nvim_create_namespace('agent_lsp_panel')

--- Highlights a drawn item: its first line or all lines, its icon, its output and the lines before
--- the text of a sub-agent.
---@param buf integer
---@param item agent_lsp.PanelItem
---@param look agent_lsp.Look
---@param row integer the row of its first line, zero-based
function M.item(buf, item, look, row)
  vim.api.nvim_buf_clear_namespace(buf, colors, row, row + #look.lines)
  local from = ('│ '):rep(item.depth)
  if look.group then
    for i = 1, look.whole and #look.lines or 1 do
      vim.api.nvim_buf_set_extmark(buf, colors, row + i - 1, #from, {
        end_row = row + i,
        hl_group = look.group,
        priority = 120,
      })
    end
  elseif look.icon then
    local stop = #from + #vim.fn.matchstr(look.lines[1], '^.', #from)
    vim.api.nvim_buf_set_extmark(
      buf,
      colors,
      row,
      #from,
      { end_col = stop, hl_group = look.icon, priority = 120 }
    )
  end
  for _, m in ipairs(look.marks or {}) do
    local opts = { end_col = #from + m[3], hl_group = m[4], priority = 120 }
    vim.api.nvim_buf_set_extmark(buf, colors, row + m[1], #from + m[2], opts)
  end
  if look.output then
    local opts = { end_row = row + look.output[2], hl_group = 'AgentLspOutput', priority = 120 }
    vim.api.nvim_buf_set_extmark(buf, colors, row + look.output[1] - 1, #from, opts)
  end
  if item.depth > 0 then
    for i = 1, #look.lines do
      vim.api.nvim_buf_set_extmark(
        buf,
        colors,
        row + i - 1,
        0,
        { end_col = #from, hl_group = 'AgentLspMeta', priority = 121 }
      )
    end
  end
end

return M
