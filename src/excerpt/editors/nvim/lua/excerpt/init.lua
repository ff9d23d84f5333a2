-- Search a Markdown vault in Neovim. See :help excerpt
local config = require("excerpt.config")
local server = require("excerpt.server")
local text = require("excerpt.text")

local M = {}

-- Set options; see :help excerpt-setup
function M.setup(options)
  if vim.fn.has("nvim-0.7") == 0 then
    error("excerpt needs Neovim 0.7 or later", 0)
  end
  config.values = config.merge(options or {})
  if not vim.g.loaded_excerpt then -- the folder was put on 'runtimepath' after the plugins were loaded
    vim.cmd("runtime plugin/excerpt.lua")
  end
end

-- Open the picker with a query. With `is_resumed`, the query and the marks of the last time where there is no query.
function M.open(query, is_resumed)
  require("excerpt.picker").open(query or "", is_resumed)
end

-- Copy a pack of the best passages into the registers, or show it in a new window.
function M.pack(query, is_shown)
  local passages = require("excerpt.passages")
  local act = is_shown and passages.show_pack or passages.copy_pack
  act(query, {})
end

-- Return the text from line to line of the buffer, or what is selected if these are the lines of the selection.
local function selected_text(first, last)
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  if vim.fn.visualmode() ~= "v" or from[2] ~= first or to[2] ~= last then
    return table.concat(vim.api.nvim_buf_get_lines(0, first - 1, last, false), "\n")
  end
  local line = vim.api.nvim_buf_get_lines(0, last - 1, last, false)[1]
  local before = math.min(to[3] - 1, #line)
  local column = before + #vim.fn.matchstr(line:sub(before + 1), "^.")
  return table.concat(vim.api.nvim_buf_get_text(0, first - 1, from[3] - 1, last - 1, column, {}), "\n")
end

-- Return a query with <cword> and <cWORD> replaced by the word under the cursor.
local function expand_word(query)
  return (query:gsub("^<c[wW][oO][rR][dD]>$", vim.fn.expand))
end

-- Return the path of a file relative to the vault that has it, or nil.
local function path_in_vault(file, vaults)
  for _, vault in ipairs(vaults) do
    local folder = vim.loop.fs_realpath(vault.folder)
    if folder and file:sub(1, #folder + 1) == folder .. "/" then
      return file:sub(#folder + 2)
    end
  end
end

local function remember(params)
  server.request("remember", params, function(problem)
    if problem then
      return require("excerpt.passages").report(problem)
    end
    text.notify("remembered" .. (params.source and ", from " .. params.source or ""))
  end)
end

-- :Excerpt
function M.run_search(call)
  local query = expand_word(call.args)
  if query == "" and call.range > 0 then
    query = vim.trim((selected_text(call.line1, call.line2):gsub("%s+", " ")))
  end
  M.open(query, call.bang)
end

-- :ExcerptPack
function M.run_pack(call)
  M.pack(expand_word(call.args), call.bang)
end

-- :ExcerptRemember: the selected text, with its place if the file is in the vault, or the text of the command.
function M.run_remember(call)
  if call.range == 0 then
    if call.args == "" then
      return text.notify("select the text to remember, or write it after the command.", vim.log.levels.WARN)
    end
    return remember({ text = call.args })
  end
  local params = { text = selected_text(call.line1, call.line2) }
  if call.args ~= "" then
    params.why = call.args
  end
  local file, is_modified = vim.loop.fs_realpath(vim.api.nvim_buf_get_name(0)), vim.bo.modified
  -- The server names its vaults when it is ready, which is before it answers.
  server.request("status", {}, function(problem)
    if problem then
      return require("excerpt.passages").report(problem)
    end
    local path = file and path_in_vault(file, server.ready() and server.ready().vaults or {})
    if path and is_modified then
      return text.notify("save the note first: the memory points to its lines.", vim.log.levels.WARN)
    end
    params.source = path and ("%s:%d-%d"):format(path, call.line1, call.line2)
    remember(params)
  end)
end

return M
