--- Functions that the review specs share. They create a file with ten lines, start a model that
--- edits it, and return what is drawn.
local H = require('harness')

local R = {}

R.ten = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'

--- Starts a case whose model makes the edits in a.txt and then reports them.
function R.edits(list, opts)
  opts = opts or {}
  local pairs_of = {}
  for i = 1, #list, 2 do
    table.insert(pairs_of, { old_string = list[i], new_string = list[i + 1] })
  end
  return H.start(vim.tbl_deep_extend('force', {
    files = { ['a.txt'] = R.ten },
    script = { H.call('edit', { path = 'a.txt', edits = pairs_of }), { text = 'Done.' } },
  }, opts))
end

function R.marks(buf)
  return vim.api.nvim_buf_get_extmarks(
    buf or 0,
    require('agent_lsp.draw').namespace,
    0,
    -1,
    { details = true }
  )
end

--- Returns the virtual lines without the padding up to the window's edge.
function R.virtual_lines(buf)
  local out = {}
  for _, m in ipairs(R.marks(buf)) do
    for _, line in ipairs(m[4].virt_lines or {}) do
      table.insert(out, (table
        .concat(vim.tbl_map(function(c)
          return c[1]
        end, line))
        :gsub('%s+$', '')))
    end
  end
  return out
end

function R.go(row)
  vim.api.nvim_win_set_cursor(0, { row, 0 })
end

--- Returns a copy of a list in which entry i is replaced with the text.
function R.replace(t, i, text)
  t = vim.deepcopy(t)
  t[i] = text
  return t
end

return R
