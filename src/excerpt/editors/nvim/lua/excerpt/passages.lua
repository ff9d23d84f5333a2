-- What is done with passages: open them, pack them, link to them.
local config = require("excerpt.config")
local server = require("excerpt.server")
local text = require("excerpt.text")

local M = {}

local SPLITS = { split = "split", vsplit = "vsplit", tab = "tab split" }

-- Show the error of a request in one line.
function M.report(problem)
  text.notify(server.sentence(problem), vim.log.levels.ERROR)
end

-- Return a new buffer with text of the vault: no file, no modelines, Markdown's colours alone.
function M.scratch_buffer(lines, is_listed)
  local buffer = vim.api.nvim_create_buf(is_listed, true)
  vim.bo[buffer].modeline = false
  vim.bo[buffer].swapfile = false
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].syntax = "markdown"
  return buffer
end

-- Show a buffer in the current window, or in a new one as `how` says: "open", "split", "vsplit" or "tab".
local function show_buffer(buffer, how)
  vim.cmd("normal! m'") -- so that CTRL-O leads back
  if SPLITS[how] then
    vim.cmd(SPLITS[how])
  end
  local is_shown, problem = pcall(vim.api.nvim_win_set_buf, 0, buffer)
  if not is_shown then
    text.notify(problem, vim.log.levels.ERROR)
  end
  return is_shown
end

local function move_to_line(line)
  local last = vim.api.nvim_buf_line_count(0)
  vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(line, last)), 0 })
  vim.cmd("normal! zvzz")
end

-- Open the note of a hit at its passage. Of an attachment, or a note that is no file here, show the text that was read.
function M.open(hit, how)
  server.request("read", { source = hit.fragment_id }, function(problem, read)
    if problem then
      return M.report(problem)
    end
    local file = read.file
    if hit.kind or vim.fn.filereadable(file) == 0 then
      show_buffer(M.scratch_buffer(text.lines(read.text), true), how)
      return text.notify("the text that excerpt read from " .. hit.path)
    end
    local buffer = vim.fn.bufadd(file) -- literally: `:edit` would expand it
    vim.bo[buffer].buflisted = true
    if show_buffer(buffer, how) then
      move_to_line(read.line_start)
    end
  end)
end

-- Return the parameters of a pack: of the marked hits, or of the best hits of the query.
local function pack_params(query, marked)
  local params = { query = query, budget = config.values.budget }
  if #marked > 0 then
    params.fragments = vim.tbl_map(function(hit)
      return hit.fragment_id
    end, marked)
  end
  return params
end

local function summary(pack)
  local sure = type(pack.confidence) == "string" and pack.confidence .. ", " or "" -- vim.NIL for marked hits
  local passages = #pack.passages == 1 and "passage" or "passages"
  local notice = pack.notice ~= "" and ". " .. text.line(pack.notice) or ""
  return ("%s%d %s, %d of %d tokens%s"):format(sure, #pack.passages, passages, pack.tokens, pack.budget, notice)
end

local function request_pack(query, marked, on_pack)
  server.request("pack", pack_params(query, marked), function(problem, pack)
    if problem then
      return M.report(problem)
    elseif #pack.passages == 0 then
      return text.notify("nothing in the vault answers this: the pack is empty.", vim.log.levels.WARN)
    end
    on_pack(pack)
  end)
end

-- Copy a pack into the registers.
function M.copy_pack(query, marked)
  request_pack(query, marked, function(pack)
    for _, register in ipairs(config.values.registers) do
      if not register:match("[+*]") or vim.fn.has("clipboard") == 1 then
        vim.fn.setreg(register, pack.rendered)
      end
    end
    text.notify("copied " .. summary(pack))
  end)
end

-- Show a pack in a new window.
function M.show_pack(query, marked)
  request_pack(query, marked, function(pack)
    show_buffer(M.scratch_buffer(vim.split(pack.rendered, "\n", { plain = true }), true), "split")
    text.notify(summary(pack))
  end)
end

-- Return the heading of a hit as a wikilink names it: Obsidian leaves out what has a meaning in links.
local function link_anchor(hit)
  local heading = hit.heading_path[#hit.heading_path]
  if not heading then
    return ""
  end
  return "#" .. vim.trim((text.line(heading):gsub("[#|^:%[%]]", " "):gsub("%%%%", " "):gsub(" +", " ")))
end

-- Call `on_link` with the wikilink of a hit: by file name where that leads to the note, else by path.
-- The context says that the note is only looked at: a linked hit is not recorded as opened.
local function request_link(hit, on_link)
  local path = hit.path:gsub("%.md$", "")
  local name = path:match("[^/]*$")
  server.request("read", { source = ("[[%s]]"):format(name), context = 1 }, function(problem, read)
    local target = not problem and read.path == hit.path and name or path
    on_link(("[[%s%s]]"):format(text.line(target), link_anchor(hit)))
  end)
end

-- Insert the links of `hits`, in order, at a position (window, row, column from 0) of a buffer.
function M.insert_links(hits, position)
  local links, missing = {}, #hits
  for index, hit in ipairs(hits) do
    request_link(hit, function(link)
      links[index] = link
      missing = missing - 1
      if missing > 0 then
        return
      end
      local inserted = table.concat(links, " ")
      local is_inserted, problem =
        pcall(vim.api.nvim_buf_set_text, position.buffer, position.row, position.column, position.row, position.column, { inserted })
      if not is_inserted then
        return text.notify(problem, vim.log.levels.ERROR)
      end
      if vim.api.nvim_win_is_valid(position.window) then
        pcall(vim.api.nvim_win_set_cursor, position.window, { position.row + 1, position.column + #inserted })
      end
    end)
  end
end

return M
