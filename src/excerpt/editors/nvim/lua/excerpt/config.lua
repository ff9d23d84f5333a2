-- The configuration: defaults, and what the user set.
local M = {}

M.defaults = {
  cmd = { "excerpt" }, -- the command and its first arguments
  vault = nil, -- a folder; nil: $EXCERPT_VAULT, or the vault opened last
  budget = nil, -- tokens of a pack; nil: as in the settings of excerpt
  limit = 50, -- most hits in the list
  registers = { '"', "+" }, -- where a pack is copied to
  border = true,
  keys = { -- a key, a list of keys, or false
    open = "<CR>",
    split = "<C-x>",
    vsplit = "<C-v>",
    tab = "<C-t>",
    next = { "<Down>", "<C-n>" },
    previous = { "<Up>", "<C-p>" },
    mark = "<Tab>",
    copy = "<C-y>",
    pack = "<C-o>",
    link = "<C-l>",
    scroll_down = "<C-d>",
    scroll_up = "<C-u>",
    help = "<F1>",
    close = { "<Esc>", "<C-c>" },
  },
}

M.values = vim.deepcopy(M.defaults)

local TYPES = {
  cmd = "table",
  vault = "string",
  budget = "number",
  limit = "number",
  registers = "table",
  border = "boolean",
  keys = "table",
}

-- Return `values` over the defaults. Raises an error for a name or a type that does not exist.
function M.merge(values)
  for name, value in pairs(values) do
    if TYPES[name] == nil then
      error("excerpt: there is no option " .. tostring(name), 0)
    elseif type(value) ~= TYPES[name] then
      error(("excerpt: %s must be a %s"):format(name, TYPES[name]), 0)
    end
  end
  for name in pairs(values.keys or {}) do
    if M.defaults.keys[name] == nil then
      error("excerpt: there is no key for " .. tostring(name), 0)
    end
  end
  local merged = vim.tbl_extend("force", vim.deepcopy(M.defaults), values)
  merged.keys = vim.tbl_extend("force", vim.deepcopy(M.defaults.keys), values.keys or {})
  if type(merged.cmd[1]) ~= "string" then
    error("excerpt: cmd must be a list such as { 'excerpt' }", 0)
  end
  return merged
end

-- Return the keys of an action as a list.
function M.keys_of(action)
  local keys = M.values.keys[action]
  return type(keys) == "table" and keys or { keys or nil }
end

return M
