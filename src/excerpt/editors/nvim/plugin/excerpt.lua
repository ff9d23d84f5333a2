-- Define the commands. Nothing else is loaded before one of them is used.
if vim.g.loaded_excerpt then
  return
end
vim.g.loaded_excerpt = true

local command = vim.api.nvim_create_user_command

command("Excerpt", function(call)
  require("excerpt").run_search(call)
end, { nargs = "*", range = true, bang = true, desc = "Search the vault" })

command("ExcerptPack", function(call)
  require("excerpt").run_pack(call)
end, { nargs = "+", bang = true, desc = "Copy a pack of the best passages" })

command("ExcerptRemember", function(call)
  require("excerpt").run_remember(call)
end, { nargs = "*", range = true, desc = "Keep a memory" })
