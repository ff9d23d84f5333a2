-- The picker: a prompt, the list of passages, and a preview of the selected one in its note.
local config = require("excerpt.config")
local layout = require("excerpt.layout")
local passages = require("excerpt.passages")
local rows = require("excerpt.rows")
local server = require("excerpt.server")
local text = require("excerpt.text")

local M = {}

local PROMPT = "> "
local CONTEXT_LINES = 300 -- of the note, above and below the passage in the preview
local NAMESPACE = vim.api.nvim_create_namespace("excerpt")
local SELECTION = vim.api.nvim_create_namespace("excerpt_selection")

local GROUPS = {
  ExcerptNormal = "Normal",
  ExcerptBorder = "Comment",
  ExcerptLocation = "Directory",
  ExcerptFigure = "Comment",
  ExcerptMatch = "Special",
  ExcerptMark = "WarningMsg",
  ExcerptSelection = "Visual",
  ExcerptPassage = "Visual",
}

local picker = nil -- the open one: windows, buffers, origin, query, hits, selected, marked, …
local previous = { query = "", marked = {} } -- of the last picker, for :Excerpt!

local function is_open(one)
  return picker ~= nil and picker == one
end

-- --- drawing --------------------------------------------------------------------------------------------------------

local function set_lines(buffer, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  vim.api.nvim_buf_clear_namespace(buffer, SELECTION, 0, -1)
end

local function marked_index(hit)
  for index, marked in ipairs(picker.marked) do
    if marked.fragment_id == hit.fragment_id then
      return index
    end
  end
end

local function draw_status()
  local parts = {}
  if #picker.marked > 0 then
    parts[1] = #picker.marked .. " marked"
  end
  local result = picker.result
  if picker.progress then
    parts[#parts + 1] = picker.progress
  elseif result then
    parts[#parts + 1] = type(result.confidence) == "string" and result.confidence or nil
    parts[#parts + 1] = ("%d of %d"):format(#picker.hits, math.max(result.matched, #picker.hits))
  end
  local status = table.concat(parts, " · ")
  local buffer = picker.buffers.prompt
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  local room = vim.api.nvim_win_get_width(picker.windows.prompt) - vim.fn.strdisplaywidth(PROMPT .. picker.query) - 2
  if status ~= "" and vim.fn.strdisplaywidth(status) < room then
    vim.api.nvim_buf_set_extmark(buffer, NAMESPACE, 0, 0, {
      virt_text = { { text.line(status), "ExcerptFigure" } },
      virt_text_pos = "right_align",
    })
  end
end

local function draw_selection()
  local buffer, first = picker.buffers.list, (picker.selected - 1) * rows.LINES
  vim.api.nvim_buf_clear_namespace(buffer, SELECTION, 0, -1)
  if picker.help or picker.message then
    return
  end
  vim.api.nvim_buf_set_extmark(buffer, SELECTION, first, 0, {
    end_row = first + rows.LINES,
    hl_group = "ExcerptSelection",
    hl_eol = true,
    priority = 50, -- below the highlights of the row
  })
  local window = picker.windows.list
  vim.api.nvim_win_set_cursor(window, { first + rows.LINES, 0 }) -- scrolls both lines into view
  vim.api.nvim_win_set_cursor(window, { first + 1, 0 })
end

local function draw_list()
  local buffer = picker.buffers.list
  vim.wo[picker.windows.list].wrap = picker.message ~= nil -- an error may be longer than the window is wide
  if picker.help or picker.message then
    return set_lines(buffer, picker.help or picker.message)
  end
  local width = vim.api.nvim_win_get_width(picker.windows.list)
  local lines, highlights = {}, {}
  for _, hit in ipairs(picker.hits) do
    local first = #lines
    local hit_lines, spans = rows.render(hit, width, marked_index(hit) ~= nil)
    vim.list_extend(lines, hit_lines)
    for _, span in ipairs(spans) do
      highlights[#highlights + 1] = { first + span[1], span[2], span[3], span[4] }
    end
  end
  set_lines(buffer, lines)
  for _, span in ipairs(highlights) do
    vim.api.nvim_buf_set_extmark(buffer, NAMESPACE, span[1], span[2], { end_col = span[3], hl_group = span[4] })
  end
  draw_selection()
end

-- Show the passage of a hit in its note, as `read` returned it.
local function draw_preview(hit, read)
  local buffer, window = picker.buffers.preview, picker.windows.preview
  local lines = text.lines(read.text)
  set_lines(buffer, lines)
  local first = math.max(0, math.min(hit.line_start - read.line_start, #lines - 1))
  local last = math.max(first, math.min(hit.line_end - read.line_start, #lines - 1))
  for line = first, last do
    vim.api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, { line_hl_group = "ExcerptPassage", priority = 50 })
  end
  local above = math.floor(vim.api.nvim_win_get_height(window) / 4)
  vim.api.nvim_win_call(window, function()
    vim.fn.winrestview({ lnum = first + 1, col = 0, topline = math.max(1, first + 1 - above) })
  end)
end

local function show_message(...)
  picker.help, picker.message = nil, vim.tbl_map(text.line, { ... })
  picker.hits, picker.result = {}, nil
  draw_list()
  draw_status()
  set_lines(picker.buffers.preview, {})
end

-- --- requests -------------------------------------------------------------------------------------------------------

local function request_preview()
  local one, hit = picker, picker.hits[picker.selected]
  if not hit then
    return set_lines(picker.buffers.preview, {})
  end
  server.request("read", { source = hit.fragment_id, context = CONTEXT_LINES }, function(problem, read)
    if not is_open(one) or picker.hits[picker.selected] ~= hit then
      return
    elseif problem then -- the note has changed: the list follows in a moment
      return set_lines(picker.buffers.preview, { text.line(server.sentence(problem)) })
    end
    draw_preview(hit, read)
  end, "excerpt_preview")
end

local function select_hit(index)
  picker.selected = math.max(1, math.min(index, #picker.hits))
  draw_selection()
  request_preview()
end

local function show_result(result, selected_id)
  picker.help, picker.message, picker.progress = nil, nil, nil
  picker.result, picker.hits, picker.selected = result, result.hits, 1
  for index, hit in ipairs(result.hits) do
    if hit.fragment_id == selected_id then
      picker.selected = index
    end
  end
  if #result.hits == 0 then
    return show_message("No passage matches.")
  end
  draw_list()
  draw_status()
  request_preview()
end

-- Say which vault is searched. It also starts the server before the first letter.
local function show_vault()
  local one, hint = picker, ("Type a question. %s lists the keys."):format(config.keys_of("help")[1] or ":help excerpt-keys")
  show_message(hint)
  server.request("status", {}, function(problem, status)
    if not is_open(one) or picker.query ~= "" then
      return
    elseif problem then
      return show_message(hint, "", server.sentence(problem))
    end
    show_message(hint, "", ("%s: %d notes"):format(status.vault, status.notes))
  end, "excerpt_search")
end

-- Search for the query of the prompt. `is_renewal`: the same query after a change of the vault, keeps the selection.
local function search(is_renewal)
  local one, query = picker, picker.query
  if vim.trim(query) == "" then
    return show_vault()
  end
  local selected = is_renewal and picker.hits[picker.selected]
  local params = { query = query, limit = config.values.limit, text = false }
  server.request("search", params, function(problem, result)
    if not is_open(one) or picker.query ~= query then
      return
    elseif not problem then
      return show_result(result, selected and selected.fragment_id)
    elseif server.kind(problem) ~= "superseded" and server.kind(problem) ~= "cancelled" then
      show_message(server.sentence(problem))
    end
  end, "excerpt_search")
end

local function on_event(event, params)
  if event == "progress" then
    local is_done = params.done >= params.total -- without a change, no other event follows
    picker.progress = not is_done and ("indexing %d %%"):format(params.done * 100 / params.total) or nil
    draw_status()
  elseif event == "changed" then
    picker.progress = nil
    search(true)
  end
end

-- --- actions --------------------------------------------------------------------------------------------------------

local function close()
  local one = picker
  if not one then
    return
  end
  picker, server.on_event = nil, nil
  previous = { query = one.query, marked = one.marked }
  vim.api.nvim_del_augroup_by_id(one.group)
  vim.cmd("stopinsert")
  for _, name in ipairs({ "preview", "list", "prompt" }) do
    pcall(vim.api.nvim_win_close, one.windows[name], true)
  end
  if vim.api.nvim_win_is_valid(one.origin.window) then
    vim.api.nvim_set_current_win(one.origin.window)
  end
end

local function mark()
  local hit = picker.hits[picker.selected]
  if not hit then
    return
  end
  local index = marked_index(hit)
  if index then
    table.remove(picker.marked, index)
  else
    table.insert(picker.marked, hit)
  end
  draw_list()
  draw_status()
  select_hit(picker.selected + 1)
end

-- Return an action that closes the picker and opens the selected hit.
local function opener(how)
  return function()
    local hit = picker.hits[picker.selected]
    if hit then
      close()
      passages.open(hit, how)
    end
  end
end

-- Return an action that closes the picker and makes a pack with `act`.
local function packer(act)
  return function()
    if #picker.marked > 0 or #picker.hits > 0 then
      local query, marked = picker.query, picker.marked
      close()
      act(query, marked)
    end
  end
end

local function insert_links()
  local hits, origin = picker.marked, picker.origin
  if #hits == 0 then
    hits = { picker.hits[picker.selected] }
  end
  if #hits > 0 then
    close()
    passages.insert_links(hits, origin)
  end
end

-- Return an action that scrolls the preview with a command of normal mode.
local function scroller(keys)
  return function()
    vim.api.nvim_win_call(picker.windows.preview, function()
      vim.cmd("normal! " .. vim.api.nvim_replace_termcodes(keys, true, false, true))
    end)
  end
end

local ACTIONS -- in the order of the help

local function toggle_help()
  if picker.help then
    picker.help = nil
    return draw_list()
  end
  local half = math.ceil(#ACTIONS / 2)
  local lines = {}
  local function cell(action)
    return action and ("%-8s %-22s"):format(config.keys_of(action.name)[1] or "", action.label) or ""
  end
  for index = 1, half do
    lines[index] = " " .. cell(ACTIONS[index]) .. cell(ACTIONS[index + half])
  end
  picker.help = lines
  draw_list()
end

ACTIONS = {
  { name = "open", label = "open at the line", act = opener("open") },
  { name = "split", label = "open in a split", act = opener("split") },
  { name = "vsplit", label = "open beside", act = opener("vsplit") },
  { name = "tab", label = "open in a tab", act = opener("tab") },
  {
    name = "next",
    label = "next passage",
    act = function()
      select_hit(picker.selected + 1)
    end,
  },
  {
    name = "previous",
    label = "passage before",
    act = function()
      select_hit(picker.selected - 1)
    end,
  },
  { name = "mark", label = "mark for the pack", act = mark },
  { name = "copy", label = "copy the pack", act = packer(passages.copy_pack) },
  { name = "pack", label = "show the pack", act = packer(passages.show_pack) },
  { name = "link", label = "insert a link", act = insert_links },
  { name = "scroll_down", label = "scroll the note down", act = scroller("<C-d>") },
  { name = "scroll_up", label = "scroll the note up", act = scroller("<C-u>") },
  { name = "help", label = "these keys", act = toggle_help },
  { name = "close", label = "close", act = close },
}

-- --- opening --------------------------------------------------------------------------------------------------------

local function create_windows(one)
  for name, place in pairs(layout.compute()) do
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.bo[buffer].bufhidden = "wipe"
    vim.bo[buffer].modeline = false
    vim.bo[buffer].undolevels = -1
    one.buffers[name] = buffer
    one.windows[name] = vim.api.nvim_open_win(buffer, name == "prompt", place)
    vim.wo[one.windows[name]].winhighlight = "Normal:ExcerptNormal,NormalFloat:ExcerptNormal,FloatBorder:ExcerptBorder"
    vim.wo[one.windows[name]].wrap = name == "preview"
    vim.wo[one.windows[name]].linebreak = true
    vim.wo[one.windows[name]].signcolumn = "no" -- highlighted lines would open it
  end
  vim.bo[one.buffers.preview].syntax = "markdown"
  vim.wo[one.windows.list].scrolloff = 0
  vim.bo[one.buffers.prompt].buftype = "prompt" -- plugins for completion and pairs leave it alone
  vim.bo[one.buffers.prompt].filetype = "excerpt"
  vim.fn.prompt_setprompt(one.buffers.prompt, PROMPT)
end

local function read_query()
  local line = vim.api.nvim_buf_get_lines(picker.buffers.prompt, 0, 1, false)[1]
  local query = line:sub(1, #PROMPT) == PROMPT and line:sub(#PROMPT + 1) or line
  if query ~= picker.query then
    picker.query = query
    search(false)
  end
end

local function write_query(query)
  picker.query = query
  vim.api.nvim_buf_set_lines(picker.buffers.prompt, 0, -1, false, { PROMPT .. query })
  vim.cmd("startinsert!")
  search(false)
end

local function resize()
  for name, place in pairs(layout.compute()) do
    vim.api.nvim_win_set_config(picker.windows[name], place)
  end
  draw_list()
  draw_status()
end

local function define_keys(buffer)
  for _, action in ipairs(ACTIONS) do
    for _, key in ipairs(config.keys_of(action.name)) do
      vim.keymap.set({ "i", "n" }, key, action.act, { buffer = buffer, nowait = true, desc = action.label })
    end
  end
  vim.keymap.set("i", "<C-w>", "<C-S-w>", { buffer = buffer, desc = "delete a word, which a prompt buffer does not" })
  vim.keymap.set("i", "?", function()
    if picker.query == "" then
      toggle_help()
    else
      vim.api.nvim_feedkeys("?", "n", false)
    end
  end, { buffer = buffer, desc = "these keys, in an empty prompt" })
end

local function define_autocommands(one)
  one.group = vim.api.nvim_create_augroup("excerpt_picker", { clear = true })
  local function on(events, buffer, callback)
    vim.api.nvim_create_autocmd(events, { group = one.group, buffer = buffer, callback = callback })
  end
  on({ "TextChangedI", "TextChangedP", "TextChanged" }, one.buffers.prompt, read_query)
  on("WinLeave", one.buffers.prompt, function()
    vim.schedule(function()
      if is_open(one) then
        close()
      end
    end)
  end)
  vim.api.nvim_create_autocmd("VimResized", { group = one.group, callback = resize })
end

-- Return the place in the current buffer where a link is inserted: at the cursor, in normal mode after it, as `p` does.
local function current_position()
  local cursor = vim.api.nvim_win_get_cursor(0)
  local column = cursor[2]
  if vim.fn.mode():sub(1, 1) ~= "i" then
    column = column + #vim.fn.matchstr(vim.api.nvim_get_current_line():sub(column + 1), "^.")
  end
  return { window = vim.api.nvim_get_current_win(), buffer = vim.api.nvim_get_current_buf(), row = cursor[1] - 1, column = column }
end

-- Open the picker. With `is_resumed`, the marks of the last one stay, and its query unless there is another.
function M.open(query, is_resumed)
  close()
  for group, link in pairs(GROUPS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
  query = text.line((query:gsub("%s+", " ")))
  local one = { windows = {}, buffers = {}, origin = current_position(), query = "", hits = {}, selected = 1, marked = {} }
  if is_resumed then
    query = query ~= "" and query or previous.query
    one.marked = previous.marked
  end
  create_windows(one)
  picker = one
  define_keys(one.buffers.prompt)
  define_autocommands(one)
  server.on_event = on_event
  write_query(query)
end

return M
