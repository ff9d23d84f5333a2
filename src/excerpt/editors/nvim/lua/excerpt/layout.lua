-- Where the three windows of the picker are: prompt above the list, preview beside or below.
local config = require("excerpt.config")

local M = {}

local WIDE_COLUMNS = 100 -- from here on the preview is beside the list
local LOW_ROWS = 30 -- up to here the picker takes the whole screen

local ROUND = { "╭", "─", "╮", "│", "╯", "─", "╰", "│" }
local ASCII = { "+", "-", "+", "|", "+", "-", "+", "|" }

-- Return border characters clockwise from the top left, with other ones at some of the corners.
local function border(corners)
  if not config.values.border then
    return "none"
  elseif vim.o.ambiwidth == "double" then -- drawn lines would be two cells wide
    return ASCII
  end
  local characters = vim.deepcopy(ROUND)
  for index, corner in pairs(corners) do
    characters[index] = corner
  end
  return characters
end

local function window(row, column, width, height, corners)
  return {
    relative = "editor",
    style = "minimal",
    row = row,
    col = column,
    width = math.max(1, width),
    height = math.max(1, height),
    border = border(corners),
  }
end

-- Return the configurations of the windows for the current size of the screen. Neighbouring windows share a border.
function M.compute()
  local columns, rows = vim.o.columns, vim.o.lines - vim.o.cmdheight - 1
  local edge = config.values.border and 1 or 0
  local width = columns < WIDE_COLUMNS and columns or math.floor(columns * 0.92)
  local height = rows <= LOW_ROWS and rows or math.floor(rows * 0.9)
  local left, top = math.floor((columns - width) / 2), math.floor((rows - height) / 2)
  local list_top = top + 1 + edge
  if columns >= WIDE_COLUMNS then
    local list_width = math.floor((width - 3 * edge) * 0.48)
    local preview_left = left + list_width + (edge > 0 and edge or 1)
    return {
      prompt = window(top, left, list_width, 1, { [3] = "┬", [5] = "┤", [7] = "├" }),
      list = window(list_top, left, list_width, height - 1 - 3 * edge, { [1] = "├", [3] = "┤", [5] = "┴" }),
      preview = window(top, preview_left, left + width - preview_left - 2 * edge, height - 2 * edge, { [1] = "┬", [7] = "┴" }),
    }
  end
  local inner = height - 1 - 4 * edge
  local list_height = math.ceil(inner * 0.58 / 2) * 2 -- two lines a hit
  local preview_top = list_top + list_height + edge
  return {
    prompt = window(top, left, width - 2 * edge, 1, { [5] = "┤", [7] = "├" }),
    list = window(list_top, left, width - 2 * edge, list_height, { [1] = "├", [3] = "┤", [5] = "┤", [7] = "├" }),
    preview = window(preview_top, left, width - 2 * edge, inner - list_height, { [1] = "├", [3] = "┤" }),
  }
end

return M
