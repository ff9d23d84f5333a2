-- :checkhealth excerpt
local config = require("excerpt.config")
local server = require("excerpt.server")

local M = {}

local WAIT_MS = 10000

-- Neovim 0.7 has other names for the same.
local health = vim.health or require("health")
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local warn = health.warn or health.report_warn
local report_error = health.error or health.report_error

-- Return the error and the result of a request, after at most WAIT_MS.
local function ask(method)
  local problem, result
  server.request(method, {}, function(...)
    problem, result = ...
  end)
  vim.wait(WAIT_MS, function()
    return problem ~= nil or result ~= nil
  end, 20)
  return problem, result
end

local function check_server()
  local problem, status = ask("status")
  if problem then
    return report_error(server.sentence(problem))
  elseif not status then
    return report_error(("`%s` has not answered in %d s"):format(table.concat(server.command(), " "), WAIT_MS / 1000))
  end
  local ready = server.ready()
  if not ready or ready.protocol ~= server.PROTOCOL then
    return report_error(
      ("This plugin speaks version %d of the protocol, the command version %s."):format(server.PROTOCOL, ready and ready.protocol or "0"),
      { "Use the folder that `excerpt editor nvim --path` prints." }
    )
  end
  ok(("excerpt %s answers"):format(ready.version))
  ok(("vault %s: %d notes, %d fragments"):format(ready.vaults[1].folder, status.notes, status.fragments))
  if not status.watching then
    warn("The vault is not watched: changes are found late.")
  end
end

function M.check()
  start("excerpt")
  if vim.fn.has("nvim-0.7") == 0 then
    report_error("Neovim 0.7 or later is needed")
  else
    ok("Neovim 0.7 or later")
  end
  local program = config.values.cmd[1]
  if vim.fn.executable(program) == 1 then
    ok(("`%s` can be run"):format(program))
    check_server()
  else
    report_error(
      ("`%s` cannot be run"):format(program),
      { "Install excerpt, or set cmd in setup(): `excerpt editor nvim` prints the line." }
    )
  end
  if vim.fn.has("clipboard") == 1 then
    ok("packs are copied to the clipboard")
  else
    warn("Neovim has no clipboard: packs are copied to the unnamed register alone.", { ":help clipboard" })
  end
end

return M
