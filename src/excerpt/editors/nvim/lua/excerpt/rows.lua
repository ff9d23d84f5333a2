-- The rows of the list: two lines a hit, with the spans that are highlighted.
local text = require("excerpt.text")

local M = {}

M.LINES = 2 -- of a hit

local MARK = "● "
local INDENT = "    "
local MIN_PATH_CELLS = 16 -- of a path before long headings

-- Return the place of a hit in an attachment, such as " · page 3", or "".
local function format_place(hit)
  local place = hit.place
  if type(place) ~= "table" or place.kind == nil or place.from == nil then
    return ""
  end
  local last = place.to ~= place.from and place.to ~= nil and ("–%s"):format(place.to) or ""
  return (" · %s %s%s"):format(place.kind, place.from, last)
end

-- Return path and headings of a hit. Where they do not fit, the headings between and the start of the path are left out.
local function format_location(hit, width)
  local path, headings = hit.path:gsub("%.md$", ""), hit.heading_path
  local location = text.line(table.concat(vim.list_extend({ path }, headings), " › ") .. format_place(hit))
  if vim.fn.strdisplaywidth(location) <= width then
    return location
  end
  local last = #headings > 0 and (#headings > 1 and " › … › " or " › ") .. headings[#headings] or ""
  local tail = text.line(last .. format_place(hit))
  local room = math.max(MIN_PATH_CELLS, width - vim.fn.strdisplaywidth(tail))
  return text.cut(text.cut_start(text.line(path), room) .. tail, width)
end

-- Return the confidence of a hit that has some, and its score.
local function format_figures(hit)
  local is_confident = type(hit.confidence) == "string" and hit.confidence ~= "nothing"
  return ("%s%.2f"):format(is_confident and hit.confidence .. " " or "", hit.score)
end

-- Return what replaces the note of a hit, such as "replaced on 2026-03-01 by Pricing.md · ", or "".
local function format_mark(hit)
  local replaced = hit.replaced
  if type(replaced) ~= "table" then
    return ""
  end
  if type(replaced.by) ~= "string" then
    return text.line(replaced.words) .. " · "
  end
  local day = type(replaced.date) == "string" and " on " .. replaced.date or ""
  return text.line(("replaced%s by %s"):format(day, replaced.by)) .. " · "
end

-- Return the lines of a hit and its highlights: line from 0, first byte, end, group.
function M.render(hit, width, is_marked)
  local figures = format_figures(hit)
  local prefix = is_marked and MARK or (" "):rep(vim.fn.strdisplaywidth(MARK))
  local room = width - vim.fn.strdisplaywidth(prefix) - #figures - 2
  local location = format_location(hit, math.max(8, room))
  local gap = (" "):rep(math.max(1, room - vim.fn.strdisplaywidth(location) + 2))
  local first = prefix .. location .. gap .. figures
  local highlights = {
    { 0, 0, #prefix, "ExcerptMark" },
    { 0, #prefix, #prefix + #location, "ExcerptLocation" },
    { 0, #first - #figures, #first, "ExcerptFigure" },
  }
  local mark = text.cut(format_mark(hit), math.max(8, width - #INDENT - 8))
  highlights[#highlights + 1] = { 1, #INDENT, #INDENT + #mark, "ExcerptMark" }
  local begin = INDENT .. mark
  local snippet = text.line((hit.snippet.text:gsub("%s", " ")))
  local shown = text.cut(snippet, math.max(8, width - vim.fn.strdisplaywidth(begin)))
  local length = vim.fn.strchars(shown, true)
  for _, span in ipairs(hit.snippet.spans) do
    if span[1] < length then
      local from = vim.str_byteindex(shown, span[1])
      local to = vim.str_byteindex(shown, math.min(span[2], length))
      highlights[#highlights + 1] = { 1, #begin + from, #begin + to, "ExcerptMatch" }
    end
  end
  return { first, begin .. shown }, highlights
end

return M
