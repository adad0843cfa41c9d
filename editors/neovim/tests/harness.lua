--- Runs a real Neovim against the real daemon with a scripted model. Each case has its own
--- workspace, daemon and state folder. Instead of sleeping, tests use wait(), which runs the event
--- loop until a predicate is true.
local H = {}

H.here = vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h'))
H.plugin = vim.fs.dirname(H.here)
H.bin = assert(vim.env.AGENT_LSP_BIN, 'AGENT_LSP_BIN must name the daemon')
H.new_api = vim.fn.has('nvim-0.11') == 1

--- The timeout in milliseconds. It is long, because the machine may be under load.
H.deadline = tonumber(vim.env.DEADLINE) or 120000

vim.opt.runtimepath:prepend(H.plugin)
vim.o.swapfile = false
vim.cmd.runtime('plugin/agent_lsp.lua')

local cases = {}
local count = 0

--- Declares a case.
---@param name string
---@param fn fun()
function H.case(name, fn)
  table.insert(cases, { name = name, fn = fn })
end

--- Waits until the predicate returns a true value, and returns that value.
---@generic T
---@param what string
---@param predicate fun(): T
---@return T
function H.wait(what, predicate)
  local value
  local ok = vim.wait(H.deadline, function()
    value = predicate()
    return value and true or false
  end, 5)
  if not ok then
    error(
      ('timed out while waiting for %s\nevents: %s\nnotices: %s\npanel:\n%s'):format(
        what,
        H.told():sub(-3000),
        vim.inspect(H.notices),
        H.panel_text():sub(-2000)
      ),
      2
    )
  end
  return value
end

--- Runs the event loop for at least 40 ms, so that the callbacks that are scheduled now run.
function H.settle()
  local done = false
  vim.defer_fn(function()
    vim.schedule(function()
      done = true
    end)
  end, 40)
  H.wait('the event loop', function()
    return done
  end)
end

function H.equal(got, want, what)
  if not vim.deep_equal(got, want) then
    error(
      ('%s\n got: %s\nwant: %s'):format(what or 'differs', vim.inspect(got), vim.inspect(want)),
      2
    )
  end
end

function H.matches(text, pattern, what)
  if not tostring(text):find(pattern) then
    error(('%s: %s is not in\n%s'):format(what or 'text', pattern, text), 2)
  end
end

--- Creates a temporary workspace folder with files (text by path).
function H.workspace(files)
  count = count + 1
  local dir = vim.fs.normalize(vim.uv.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ':h')))
    .. '/ws'
    .. count
  vim.fn.mkdir(dir .. '/.git', 'p')
  for path, text in pairs(files or {}) do
    H.write(dir .. '/' .. path, text)
  end
  return dir
end

function H.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local f = assert(io.open(path, 'wb'))
  f:write(text)
  f:close()
end

function H.read(path)
  local f = assert(io.open(path, 'rb'))
  local text = f:read('*a')
  f:close()
  return text
end

local function stop()
  local loaded = package.loaded['agent_lsp.client']
  if loaded then
    loaded.stop()
    vim.wait(H.deadline, function()
      return #vim.lsp.get_clients({ name = 'agent_lsp' }) == 0
    end, 5)
  end
end

local function forget()
  vim.cmd('silent! tabonly! | silent! only! | enew!')
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
  end
  for name in pairs(package.loaded) do
    if name:match('^agent_lsp') then
      package.loaded[name] = nil
    end
  end
  vim.g.agent_lsp = nil
end

--- Starts the case with a freshly loaded plugin in the case's workspace.
local function begin(opts)
  vim.cmd.cd(vim.fn.fnameescape(H.dir))
  H.events, H.notices, H.asked = {}, {}, {}
  vim.notify = function(text, level)
    table.insert(H.notices, { text = text, level = level })
  end
  H.choose()
  local api = require('agent_lsp')
  api.setup(
    vim.tbl_deep_extend(
      'force',
      { cmd = { H.bin }, settings = opts.settings or {} },
      opts.setup or {}
    )
  )
  api.on('*', function(params, name)
    table.insert(H.events, { name = name, params = params })
  end)
end

--- Starts a case with a workspace that contains files, and a model that plays the script (a list of
--- replies).
---@param opts { files?: table<string, string>, script?: table[], settings?: table, setup?: table }
---@return string dir
function H.start(opts)
  stop()
  forget()
  H.dir = H.workspace(opts.files)
  H.script(opts.script or {})
  vim.env.XDG_STATE_HOME = H.dir .. '-state'
  begin(opts)
  return H.dir
end

--- Simulates a new Neovim with the same workspace and state.
---@param opts { script?: table[], settings?: table, setup?: table }
function H.again(opts)
  stop()
  forget()
  H.script(opts.script or {})
  begin(opts)
end

--- Sets the script that the next daemon plays.
function H.script(replies)
  local path = H.dir .. '-script.jsonl'
  local lines = {}
  for _, reply in ipairs(replies) do
    table.insert(lines, vim.json.encode(reply))
  end
  H.write(path, table.concat(lines, '\n') .. '\n')
  vim.env.AGENT_LSP_SCRIPT = path
end

--- Answers vim.ui.select and vim.ui.input in order. An answer is a number, a pattern for a label,
--- or false for no answer.
function H.choose(...)
  local answers = { ... }
  local function record(kind, text, items, opts)
    table.insert(H.asked, { kind = kind, text = text, items = items, opts = opts })
    return table.remove(answers, 1)
  end
  vim.ui.select = function(items, opts, done)
    local labels = vim.tbl_map(opts.format_item or tostring, items)
    local answer = record('select', opts.prompt, labels, opts)
    if type(answer) == 'string' then
      for i, label in ipairs(labels) do
        if label:find(answer) then
          return done(items[i], i)
        end
      end
      error(('no choice matches %s in %s'):format(answer, vim.inspect(labels)))
    end
    if answer then
      return done(items[answer], answer)
    end
    if answer == false then
      done(nil, nil)
    end
  end
  vim.ui.input = function(opts, done)
    local answer = record('input', opts.prompt, nil, opts)
    if answer ~= nil then
      done(answer or nil)
    end
  end
end

--- Returns the events so far that have the given name and match the predicate.
function H.all(name, predicate)
  local out = {}
  for _, e in ipairs(H.events) do
    if e.name == name and (not predicate or predicate(e.params)) then
      table.insert(out, e.params)
    end
  end
  return out
end

--- Waits for the n-th matching event (the first by default), and returns its parameters.
function H.event(name, predicate, n)
  return H.wait('event ' .. name, function()
    return H.all(name, predicate)[n or 1]
  end)
end

--- Waits until the n-th turn has ended, and returns the turn.
function H.turn(n)
  return H.event('turn/completed', nil, n).turn
end

function H.told()
  local names = {}
  for _, e in ipairs(H.events or {}) do
    local item = e.params and e.params.item
    table.insert(
      names,
      e.name
        .. (item and (':' .. tostring(item.type) .. ':' .. tostring(item.status or '') .. (item.isError and '!' .. item.result or '')) or '')
        .. (
          e.params and e.params.turn and e.params.turn.error and vim.inspect(e.params.turn.error)
          or ''
        )
    )
  end
  return table.concat(names, ' ')
end

function H.panel_text()
  local panel = package.loaded['agent_lsp.transcript']
  if not panel or not panel.buf or not vim.api.nvim_buf_is_valid(panel.buf) then
    return ''
  end
  return table.concat(vim.api.nvim_buf_get_lines(panel.buf, 0, -1, false), '\n')
end

--- Opens a file from the workspace in the current window.
function H.edit(path)
  vim.cmd.edit(vim.fn.fnameescape(H.dir .. '/' .. path))
  return vim.api.nvim_get_current_buf()
end

function H.lines(buf)
  return vim.api.nvim_buf_get_lines(buf or 0, 0, -1, false)
end

--- Waits until n hunks are pending.
function H.hunks(n)
  local review = require('agent_lsp.review')
  H.wait(n .. ' pending hunks', function()
    return review.count() == n
  end)
  return review
end

--- Sends a request and returns its result. An error response fails the case.
function H.request(method, params)
  local got
  require('agent_lsp.client').request(method, params, function(err, res)
    got = { err = err, res = res }
  end)
  H.wait(method, function()
    return got
  end)
  if got.err then
    error(got.err, 2)
  end
  return got.res
end

--- Returns a reply that calls one tool. Before an edit, the reply also reads the file.
function H.call(name, arguments, extra)
  local calls = { { name = name, arguments = arguments } }
  if name == 'edit' then
    table.insert(calls, 1, { name = 'read', arguments = { path = arguments.path } })
  end
  return vim.tbl_extend('force', { toolCalls = calls }, extra or {})
end

local did = {}

--- Records steps of the job that a case performs without the plugin. ran.mjs receives them when all
--- cases have passed.
---@param ... string
function H.does(...)
  vim.list_extend(did, { ... })
end

--- Runs the cases, or only those whose names match CASE if it is set, and ends Neovim.
function H.run()
  local failed = 0
  for _, c in ipairs(cases) do
    if not vim.env.CASE or c.name:find(vim.env.CASE) then
      local began = vim.uv.hrtime()
      vim.v.errmsg = ''
      local ok, err = xpcall(c.fn, debug.traceback)
      if ok and vim.v.errmsg ~= '' then
        ok, err = false, 'an error occurred: ' .. vim.v.errmsg
      end
      io.stdout:write(
        ('%s %s (%d ms)\n'):format(ok and 'ok  ' or 'FAIL', c.name, (vim.uv.hrtime() - began) / 1e6)
      )
      if not ok then
        failed = failed + 1
        io.stdout:write(tostring(err), '\n')
      end
    end
  end
  stop()
  if failed == 0 and vim.env.DID then
    H.write(vim.env.DID, table.concat(did, ' '))
  end
  io.stdout:flush()
  vim.cmd(failed == 0 and 'qall!' or 'cquit 1')
end

return H
