--- Tests random edits and decisions, between which the user types. After each step, the buffer is
--- compared with the expected text. The rounds are the same in each run. If a round fails, its
--- number is printed, and SEED=n editors/neovim/tests/run.sh random repeats the round. SEED=n
--- ROUNDS=m plays other rounds.
local H = require('harness')

local seed = tonumber(vim.env.SEED)
local rounds = tonumber(vim.env.ROUNDS) or seed and 1 or 12

--- Returns a change for the agent's edit: the text that it replaces, and the new text.
local function change(i)
  local line = 'line ' .. i .. ' é𝄞\n'
  local kind = math.random(3)
  local new = kind == 1 and line:upper()
    or kind == 2 and line .. 'new ' .. i .. '\nmore ' .. i .. '\n'
    or ''
  return { at = i, old = line, new = new, accepted = math.random(2) == 1 }
end

local function round(n)
  math.randomseed(n)
  local lines, changes, edits = {}, {}, {}
  for i = 1, 60 do
    lines[i] = 'line ' .. i .. ' é𝄞\n'
  end
  for i = 5, 55, 5 do
    if math.random(2) == 1 or #changes == 0 then
      local c = change(i)
      table.insert(changes, c)
      table.insert(edits, { old_string = c.old, new_string = c.new })
    end
  end
  H.start({
    files = { ['a.txt'] = table.concat(lines) },
    setup = { position_encodings = { n % 2 == 0 and 'utf-8' or 'utf-16' } },
    script = { H.call('edit', { path = 'a.txt', edits = edits }), { text = 'Done.' } },
  })
  local buf = H.edit('a.txt')
  vim.cmd('AgentPrompt go')
  H.hunks(#changes)
  --- Returns the current row of a line from the original text.
  local function row_of(i)
    for row, text in ipairs(H.lines(buf)) do
      if text:match('^line ' .. i .. ' ') then
        return row
      end
    end
  end
  while #changes > 0 do
    local typed = 5 * math.random(0, 11) + math.random(2, 3) -- the line is never next to a hunk
    local row = row_of(typed)
    vim.api.nvim_buf_set_text(
      buf,
      row - 1,
      0,
      row - 1,
      0,
      { ('𝄞 typed %d'):format(#changes), '' }
    )
    lines[typed] = lines[typed]:gsub('line ', ('𝄞 typed %d\nline '):format(#changes))
    local c = table.remove(changes, math.random(#changes))
    vim.api.nvim_win_set_cursor(0, { row_of(c.at), 0 })
    vim.cmd(c.accepted and 'AgentAccept' or 'AgentReject')
    H.hunks(#changes)
    lines[c.at] = c.accepted and c.new or lines[c.at]
    H.equal(table.concat(H.lines(buf), '\n') .. '\n', table.concat(lines), 'seed ' .. n)
  end
  H.equal(H.turn().status, 'completed', 'seed ' .. n)
end

H.case('after each decision the buffer contains exactly what was decided', function()
  local first = seed or 1
  for n = first, first + rounds - 1 do
    local ok, err = xpcall(round, debug.traceback, n)
    if not ok then
      error(('SEED=%d: %s'):format(n, err), 0)
    end
  end
end)

H.run()
