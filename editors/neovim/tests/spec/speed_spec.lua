--- Measures start-up, streaming and large reviews. Each figure is printed. If a figure has a limit,
--- the figure is checked.
local H = require('harness')

local function print_line(...)
  io.stdout:write('     ', (...):format(select(2, ...)), '\n')
end

local function milliseconds(fn)
  local began = vim.uv.hrtime()
  fn()
  return (vim.uv.hrtime() - began) / 1e6
end

--- Returns the processor time that fn takes, in milliseconds. It does not include other work on the
--- machine.
local function cpu(fn)
  local began = os.clock()
  fn()
  return (os.clock() - began) * 1e3
end

--- Measures how long Neovim itself takes for 2,000 marks with virtual lines in a buffer of 6,000
--- lines. The result shows how meaningful a limit in milliseconds is on this machine.
local function yardstick()
  local lines, ns = {}, vim.api.nvim_create_namespace('yardstick')
  for i = 1, 6000 do
    lines[i] = ('line %d of the file, with some words in it'):format(i)
  end
  local best = math.huge
  for _ = 1, 3 do
    local buf = vim.api.nvim_create_buf(false, true)
    best = math.min(
      best,
      cpu(function()
        vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
        for i = 1, 2000 do
          vim.api.nvim_buf_set_extmark(
            buf,
            ns,
            3 * i - 2,
            0,
            { virt_lines = { { { lines[i], 'Added' } } }, line_hl_group = 'Removed' }
          )
        end
        vim.deepcopy(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true }))
      end)
    )
    vim.api.nvim_buf_delete(buf, { force = true })
  end
  return best
end

--- Runs fn several times and returns the shortest processor time.
local function least(runs, fn)
  local best = math.huge
  for _ = 1, runs do
    best = math.min(best, cpu(fn))
  end
  return best
end

H.case('the commands are registered in under a millisecond, and nothing else is loaded', function()
  for name in pairs(package.loaded) do
    H.equal(name:match('^agent_lsp'), nil, 'loaded at start')
  end
  local source = loadfile(H.plugin .. '/plugin/agent_lsp.lua')
  local best = least(20, function()
    vim.g.loaded_agent_lsp = nil
    source()
  end)
  print_line('command registration: %.3f ms of processor time', best)
  H.equal(best < 1, true, 'registration is slow')
  for name in pairs(package.loaded) do
    H.equal(name:match('^agent_lsp'), nil, 'loaded at start')
  end
end)

--- Returns the longest time in milliseconds between two iterations of the event loop while wait
--- runs.
local function longest_stall(wait)
  local longest, last = 0, vim.uv.hrtime()
  local timer = assert(vim.uv.new_timer())
  timer:start(0, 1, function()
    local now = vim.uv.hrtime()
    longest = math.max(longest, (now - last) / 1e6)
    last = now
  end)
  wait()
  timer:stop()
  timer:close()
  return longest
end

--- Measures how long Neovim takes to show the same text in a window like the panel's if the text is
--- set in one call.
local function at_once(lines)
  local worst = 0
  for _ = 1, 3 do
    local buf = vim.api.nvim_create_buf(false, true)
    pcall(vim.treesitter.start, buf, 'markdown')
    local win = vim.api.nvim_open_win(buf, false, { split = 'right', win = -1 })
    local took = milliseconds(function()
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
      vim.cmd('redraw')
    end)
    vim.api.nvim_win_close(win, true)
    worst = math.max(worst, took)
  end
  return worst
end

--- Returns 10,000 words in lines of twelve words.
local function words()
  local out = {}
  for i = 1, 10000 do
    out[i] = ('word%d%s'):format(i, i % 12 == 0 and '\n' or ' ')
  end
  return out
end

H.case('10,000 deltas are drawn in frames', function()
  H.start({ script = { { text = 'ok' } } })
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  local transcript = require('agent_lsp.transcript')
  local events = require('agent_lsp.events')
  local draws = 0
  vim.api.nvim_buf_attach(transcript.buffer(), false, {
    on_lines = function()
      draws = draws + 1
    end,
  })
  local session = transcript.session
  local list = words()
  local text = table.concat(list)
  local took, stall, longest = 0, 0, math.huge
  for run = 1, 3 do -- other work on the machine slows drawing, so take the minimum
    local id = 'big' .. run
    events.emit('item/started', {
      sessionId = session,
      item = { itemId = id, type = 'assistantMessage', text = '', createdAt = '' },
    })
    for _, word in ipairs(list) do
      vim.schedule(function()
        events.emit('delta', { sessionId = session, itemId = id, kind = 'text', text = word })
      end)
    end
    transcript.longest = 0
    local this = longest_stall(function()
      took = milliseconds(function()
        H.wait('the last word', function()
          return select(2, H.panel_text():gsub('word10000', '')) == run
        end)
      end)
    end)
    if transcript.longest < longest then
      stall, longest = this, transcript.longest
    end
  end
  H.matches(H.panel_text(), 'word1 word2 .*\n.*word9999 word10000')
  local same = at_once(vim.split(text, '\n'))
  print_line(
    '10,000 deltas in %.0f ms, %d draws in all three runs; longest stall %.1f ms, longest draw %.1f ms; the same text at once %.1f ms',
    took,
    draws,
    stall,
    longest,
    same
  )
  H.equal(draws < 1000, true, 'drawn one by one')
  H.equal(longest < 10 * same + 100, true, 'a frame takes longer than the whole text')
end)

H.case('10,000 chunks from the model arrive complete', function()
  local text = table.concat(words())
  H.start({ script = { { text = text, chunks = 10000 } } })
  local deltas = 0
  require('agent_lsp').on('delta', function()
    deltas = deltas + 1
  end)
  local took
  local stall = longest_stall(function()
    took = milliseconds(function()
      vim.cmd('AgentPrompt go')
      H.wait('the last word', function()
        return #H.all('turn/completed') == 1 and H.panel_text():find('word10000', 1, true)
      end)
    end)
  end)
  H.equal(H.panel_text():find(vim.trim(text), 1, true) ~= nil, true, 'the text is not the same')
  print_line(
    '%d notifications in %.0f ms; longest stall %.1f ms, longest draw %.1f ms',
    deltas,
    took,
    stall,
    require('agent_lsp.transcript').longest
  )
end)

H.case('a review of 2,000 hunks opens in under 300 ms', function()
  local lines = {}
  for i = 1, 6000 do
    lines[i] = ('line %d of the file, with some words in it'):format(i)
  end
  local text = table.concat(lines, '\n') .. '\n'
  H.start({ files = { ['big.txt'] = text }, script = { { text = 'ok' } } })
  local buf = H.edit('big.txt')
  vim.cmd('AgentPrompt go') -- this starts a daemon, so that the position encoding is known
  H.equal(H.turn().status, 'completed')
  local hunks = {}
  for i = 1, 2000 do
    local row = 3 * i - 2
    hunks[i] = {
      hunkId = 'h' .. i,
      range = { start = { line = row, character = 0 }, ['end'] = { line = row + 1, character = 0 } },
      oldText = lines[row + 1] .. '\n',
      newText = lines[row + 1]:gsub('some', 'many') .. '\n',
      state = 'pending',
      matchTier = 'T0',
    }
  end
  local uri = vim.uri_from_bufnr(buf)
  local file =
    { op = 'modify', uri = uri, placement = 'proposed', version = 0, base = {}, hunks = hunks }
  local proposal = {
    proposalId = 'p',
    revision = 1,
    sessionId = 's',
    title = '',
    state = 'proposed',
    stat = {},
    files = { file },
  }
  local store = require('agent_lsp.hunks')
  local inline, overview = math.huge, math.huge
  for _ = 1, 3 do
    inline = math.min(
      inline,
      cpu(function()
        store.take(proposal)
      end)
    )
    overview = math.min(
      overview,
      cpu(function()
        vim.cmd('AgentReview')
        vim.cmd('redraw')
      end)
    )
    H.equal(#vim.fn.getqflist(), 2000)
    vim.cmd('bwipeout')
    local decided = vim.deepcopy(proposal)
    for _, h in ipairs(decided.files[1].hunks) do
      h.state = 'rejected'
    end
    store.take(decided)
  end
  store.take(proposal)
  local one = cpu(function()
    local next_state = vim.deepcopy(proposal)
    next_state.files[1].hunks[1000].state = 'accepted'
    store.take(next_state)
  end)
  local marks = yardstick()
  print_line(
    '2,000 hunks (processor time): in the buffer %.0f ms, overview and quickfix %.0f ms, after one decision %.0f ms; as many marks %.0f ms',
    inline,
    overview,
    one,
    marks
  )
  local bound = math.max(300, 20 * marks) -- the limit is 300 ms, or more on a slower machine
  H.equal(inline < bound and overview < bound, true, 'the review opens too slowly')
end)

H.run()
