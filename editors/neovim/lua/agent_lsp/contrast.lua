--- Computes the contrast between text and its background, as WCAG defines it.
local M = {}

--- The minimum contrast at which text is easy to read.
M.least = 4.5

local function linear(channel)
  channel = channel / 255
  return channel <= 0.03928 and channel / 12.92 or ((channel + 0.055) / 1.055) ^ 2.4
end

local function luminance(rgb)
  local red, green, blue = math.floor(rgb / 65536), math.floor(rgb / 256) % 256, rgb % 256
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
end

local function colors(group)
  local hl = vim.api.nvim_get_hl(0, { name = group, link = false })
  return hl.fg, hl.bg
end

--- Returns the contrast between the text color of a highlight group and a background color. It
--- returns nil if a color is unknown.
---@param group string
---@param surface? string the group whose background is used; by default, the group's own
---@return number?
function M.of(group, surface)
  local fg, bg = colors(group)
  local text, page = colors('Normal')
  if surface then
    bg = select(2, colors(surface))
  end
  fg, bg = fg or text, bg or page
  if not fg or not bg then
    return nil
  end
  local a, b = luminance(fg), luminance(bg)
  return (math.max(a, b) + 0.05) / (math.min(a, b) + 0.05)
end

return M
