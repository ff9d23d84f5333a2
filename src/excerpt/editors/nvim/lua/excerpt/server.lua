-- `excerpt serve`: one process a vault, started with the first request, JSON lines both ways.
local config = require("excerpt.config")
local text = require("excerpt.text")

local M = {}

M.PROTOCOL = 1

-- Called with the name and the parameters of an event (ready, progress, changed) while it is a function.
M.on_event = nil

local servers = {} -- by the command line

-- Return the command line of the server, as a list: no shell reads it.
function M.command()
  local command = vim.list_extend({}, config.values.cmd)
  vim.list_extend(command, { "serve" })
  local vault = config.values.vault
  if vault and vault:find("://", 1, true) then -- the address of a store
    command[#command + 1] = vault
  elseif vault then
    local folder = vim.fn.fnamemodify(vault, ":p")
    command[#command + 1] = #folder > 1 and folder:gsub("/$", "") or folder
  end
  return command
end

local function emit(server, event, params)
  if event == "ready" then
    server.ready = params
  end
  if M.on_event and servers[server.key] == server then
    M.on_event(event, params)
  end
end

local function receive(server, line)
  local is_json, message = pcall(vim.fn.json_decode, line)
  if not is_json or type(message) ~= "table" then
    server.last_error = line
    return
  end
  if message.method then
    emit(server, message.method, message.params or {})
    return
  end
  local callback = server.waiting[message.id]
  if callback then
    server.waiting[message.id] = nil
    if message.error then
      callback(message.error, nil)
    else
      callback(nil, message.result)
    end
  end
end

-- Return a handler for the output of a job, which calls `on_line` for each whole line.
local function line_reader(on_line)
  local parts = {}
  return function(_, data)
    for index, piece in ipairs(data) do
      if index > 1 then -- a line ended before this piece
        local line = table.concat(parts)
        parts = {}
        if line ~= "" then
          on_line(line)
        end
      end
      parts[#parts + 1] = piece
    end
  end
end

local function end_server(server, code)
  if servers[server.key] == server then
    servers[server.key] = nil
  end
  if server.is_stopped then
    return
  end
  local reason = server.last_error and server.last_error:gsub("^excerpt: ", "") or ("exit code %d"):format(code)
  local waiting = server.waiting
  server.waiting = {}
  if next(waiting) == nil then
    text.notify("the server ended, the next query starts it again: " .. reason, vim.log.levels.WARN)
  end
  for _, callback in pairs(waiting) do
    callback({ message = "The server ended: " .. reason, data = { kind = "ended" } }, nil)
  end
end

-- Return the running server, started if there is none, or nil and a sentence.
local function start()
  local command = M.command()
  local key = table.concat(command, "\0")
  if servers[key] then
    return servers[key]
  end
  local server = { key = key, waiting = {}, next_id = 1 }
  local is_started, job = pcall(vim.fn.jobstart, command, {
    on_stdout = line_reader(function(line)
      receive(server, line)
    end),
    on_stderr = line_reader(function(line)
      server.last_error = line
    end),
    on_exit = function(_, code)
      end_server(server, code)
    end,
  })
  if not is_started or job <= 0 then
    return nil,
      ("Cannot run %s. Install excerpt, or set cmd to where it is: see :help excerpt-setup."):format(command[1])
  end
  server.job = job
  servers[key] = server
  -- Comments in notes are for their author, who reads them here.
  local greeting = { jsonrpc = "2.0", method = "hello", params = { comments = "author" } }
  pcall(vim.fn.chansend, job, vim.fn.json_encode(greeting) .. "\n")
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("excerpt_server", { clear = true }),
    callback = M.stop,
  })
  return server
end

-- Send a request and call `callback` with an error or a result. A newer request of the same channel supersedes an
-- older one, whose callback then gets an error of the kind "superseded".
function M.request(method, params, callback, channel)
  local server, problem = start()
  if not server then
    callback({ message = problem, data = { kind = "not_installed" } }, nil)
    return
  end
  local id = server.next_id
  server.next_id = id + 1
  if next(params) == nil then
    params = vim.empty_dict() -- JSON's {}, not []
  end
  local request = { jsonrpc = "2.0", id = id, method = method, params = params, channel = channel }
  local is_json, line = pcall(vim.fn.json_encode, request)
  if not is_json then
    callback({ message = "The text is not UTF-8.", data = { kind = "invalid_params" } }, nil)
    return
  end
  server.waiting[id] = callback
  -- A server that has just ended cannot be written to; its exit calls the callback.
  pcall(vim.fn.chansend, server.job, line .. "\n")
end

-- Return the parameters of the event "ready" of the running server, or nil.
function M.ready()
  local server = servers[table.concat(M.command(), "\0")]
  return server and server.ready
end

-- Return the sentence of an error: what happened, then what to do.
function M.sentence(problem)
  local hint = type(problem.data) == "table" and problem.data.hint
  return problem.message .. (type(hint) == "string" and hint ~= "" and " " .. hint or "")
end

-- Return the kind of an error, such as "not_found".
function M.kind(problem)
  return type(problem.data) == "table" and problem.data.kind or ""
end

-- Stop every server.
function M.stop()
  for _, server in pairs(servers) do
    server.is_stopped = true
    vim.fn.jobstop(server.job)
  end
  servers = {}
end

return M
