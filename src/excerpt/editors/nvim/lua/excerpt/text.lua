-- Text of the vault for the screen. It is untrusted: nothing of it may act as a control character.
local M = {}

local REPLACEMENT = "\239\191\189" -- U+FFFD

-- UTF-8 of the characters that a terminal could interpret, as in excerpt's own `visible_line`.
local UNSAFE = {
  "\194[\128-\159]", -- C1
  "\216\156", -- U+061C
  "\226\128[\139\142\143\168-\174]", -- U+200B, direction marks, line separators, bidi embeddings
  "\226\129[\160\166-\175]", -- U+2060, bidi isolates
  "\239\187\191", -- U+FEFF
  "\239\191[\185-\187]", -- annotations
  "\237[\160-\191][\128-\191]", -- lone surrogates
  "\243\160[\128-\129][\128-\191]", -- tags
}

local function show_control(character)
  local code = character:byte()
  return code == 127 and "\226\144\161" or "\226\144" .. string.char(128 + code)
end

local function replace(text, controls)
  text = text:gsub(controls, show_control)
  if text:find("[\194\216\226\237\239\243]") then
    for _, pattern in ipairs(UNSAFE) do
      text = text:gsub(pattern, REPLACEMENT)
    end
  end
  return text
end

-- Return text as one line, each control character replaced by one visible character.
function M.line(text)
  return replace(text, "[%z\1-\31\127]")
end

-- Return the lines of a text, with visible control characters except tabs.
function M.lines(text)
  return vim.split(replace(text, "[%z\1-\8\11-\31\127]"), "\n", { plain = true })
end

-- Return text cut to `width` cells.
function M.cut(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  local count = vim.fn.strchars(text)
  while count > 0 and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, count)) >= width do
    count = count - 1
  end
  return vim.fn.strcharpart(text, 0, count) .. "…"
end

-- Return the end of a text in `width` cells: of a path it says most.
function M.cut_start(text, width)
  local count = vim.fn.strchars(text)
  local first = 0
  while first < count and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, first)) > width - (first > 0 and 1 or 0) do
    first = first + 1
  end
  return (first > 0 and "…" or "") .. vim.fn.strcharpart(text, first)
end

-- Show a message in one line. A message that does not fit would ask for a key.
function M.notify(message, level)
  local room = math.max(20, vim.v.echospace)
  vim.notify(M.cut("excerpt: " .. M.line(message), room), level or vim.log.levels.INFO)
end

return M
