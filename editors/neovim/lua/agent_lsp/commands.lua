--- Implements the commands. Each function receives the table that nvim_create_user_command passes
--- to a command.
local client = require('agent_lsp.client')
local log = require('agent_lsp.log')

local M = {}

local function api()
  return require('agent_lsp')
end

--- Returns the content blocks of a prompt: the user's text, and the content to which each @ refers.
local function blocks(text)
  return require('agent_lsp.mention').blocks(text)
end

local function range(opts)
  return opts.range > 0 and { first = opts.line1, last = opts.line2 } or nil
end

function M.prompt(opts)
  require('agent_lsp.review')
  if opts.args == '' then
    require('agent_lsp.input').about(range(opts))
    return require('agent_lsp.panel').focus_input()
  end
  api().prompt(blocks(opts.args), { range = range(opts) })
end

function M.steer(opts)
  if opts.args ~= '' then
    return api().steer(blocks(opts.args))
  end
  vim.ui.input({ prompt = 'Steer: ' }, function(text)
    if text and text ~= '' then
      api().steer(blocks(text))
    end
  end)
end

--- Queues a prompt. If no text is given, it shows the queue and offers to remove an entry.
function M.queue(opts)
  if opts.args ~= '' then
    return api().prompt(blocks(opts.args), { delivery = 'queue' })
  end
  require('agent_lsp.session').get(function(session, at)
    client.request('agent/queue/list', { sessionId = session }, function(err, res)
      if err or #res.queue == 0 then
        return log.tell(err or 'the queue is empty')
      end
      vim.ui.select(res.queue, {
        prompt = 'Remove from the queue',
        format_item = function(q)
          local render = require('agent_lsp.render')
          return ('%s  (%s)'):format(
            render.line(render.prompt_text(q.prompt)),
            render.delivery(q.delivery)
          )
        end,
      }, function(q)
        if q then
          client.request(
            'agent/queue/remove',
            { sessionId = session, messageId = q.messageId },
            nil,
            at
          )
        end
      end)
    end, at)
  end)
end

function M.abort()
  api().abort()
end

--- Lets the user answer the first pending permission or question.
function M.answer()
  require('agent_lsp.permission').select()
end

function M.toggle()
  local panel = require('agent_lsp.panel')
  if not panel.is_open() then
    require('agent_lsp.session').show(client.workspace())
  end
  panel.toggle()
end

function M.new(opts)
  require('agent_lsp.panel').open()
  require('agent_lsp.session').new(opts.args ~= '' and opts.args or nil)
end

function M.sessions(opts)
  require('agent_lsp.sessions').pick(opts.args, opts.bang)
end

--- Shows all pending hunks in the quickfix list or in the overview tab, or the hunks of one file as
--- a diff. The overview tab also fills the quickfix list.
function M.review(opts)
  local review = require('agent_lsp.review')
  if opts.args == 'quickfix' then
    return review.quickfix()
  elseif opts.args == 'diff' then
    return require('agent_lsp.diff').open()
  elseif opts.args ~= '' and opts.args ~= 'tab' then
    return log.tell(('%s is not one of tab, quickfix, diff'):format(opts.args), vim.log.levels.WARN)
  end
  review.fill_quickfix()
  require('agent_lsp.overview').open()
end

local function decide(action, opts)
  local comment = opts.args ~= '' and opts.args or nil
  require('agent_lsp.review').decide(
    action,
    { all = opts.bang, comment = comment, range = range(opts) }
  )
end

function M.accept(opts)
  decide('accept', opts)
end

function M.reject(opts)
  decide('reject', opts)
end

function M.next_hunk()
  require('agent_lsp.review').jump(1)
end

function M.previous_hunk()
  require('agent_lsp.review').jump(-1)
end

function M.edit_hunk()
  require('agent_lsp.review').edit()
end

function M.comment()
  require('agent_lsp.review').comment()
end

function M.diff()
  require('agent_lsp.diff').open()
end

--- Prompts the agent to fix the diagnostics in the cursor's line.
function M.fix(opts)
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local found = vim.tbl_filter(function(d)
    return d.source ~= 'agent-lsp'
  end, vim.diagnostic.get(0, { lnum = line }))
  if #found == 0 then
    return log.tell('there is no diagnostic on this line')
  end
  local list, texts = {}, {}
  for _, d in ipairs(found) do
    local r = {
      start = { line = d.lnum, character = d.col },
      ['end'] = { line = d.end_lnum or d.lnum, character = d.end_col or d.col },
    }
    table.insert(list, { range = r, severity = d.severity, message = d.message, source = d.source })
    table.insert(texts, d.message)
  end
  local text = opts.args ~= '' and opts.args or ('Fix this problem: ' .. table.concat(texts, '; '))
  api().prompt(
    text,
    { context = { uri = vim.uri_from_bufnr(0), selection = list[1].range, diagnostics = list } }
  )
end

function M.undo()
  require('agent_lsp.restore').undo()
end

function M.checkpoints()
  require('agent_lsp.restore').pick()
end

--- Sets options for the next prompt only.
function M.once(opts)
  require('agent_lsp.once').choose(opts.args)
end

function M.setup()
  require('agent_lsp.setup').start()
end

function M.demo()
  require('agent_lsp.demo').start()
end

--- Lets the user choose the edit policy, or applies the policy in the arguments.
function M.edits(opts)
  require('agent_lsp.policy').pick(opts.args, opts.bang)
end

--- Selects another model for this session or as the default.
function M.model(opts)
  local ws, defaults = client.workspace(), require('agent_lsp.defaults')
  if opts.args ~= '' then
    local text = 'the model is now ' .. opts.args
    if opts.bang then
      return defaults.make_default('model', opts.args, text, ws)
    end
    return defaults.set('model', opts.args, text .. ', in this session', ws)
  end
  require('agent_lsp.models').pick(ws, 'Model', function(m)
    defaults.choose('model', m.id, 'the model is now ' .. m.id, ws)
  end)
end

function M.compact(opts)
  require('agent_lsp.session').get(function(session, at)
    client.request(
      'agent/compact',
      { sessionId = session, instructions = opts.args ~= '' and opts.args or nil },
      function(err, res)
        log.tell(
          err or require('agent_lsp.render').compaction(res),
          err and vim.log.levels.WARN or nil
        )
      end,
      at
    )
  end)
end

function M.log()
  local paths = vim.tbl_filter(function(path)
    return vim.fn.getfsize(path) > 0
  end, { log.path, require('vim.lsp.log').get_filename() })
  if #paths == 0 then
    return log.tell('there are no log entries in ' .. vim.fn.fnamemodify(log.path, ':~:h'))
  end
  for i, path in ipairs(paths) do
    vim.cmd[i == 1 and 'tabedit' or 'split'](vim.fn.fnameescape(path))
    vim.cmd('normal! G')
  end
end

local models = {} ---@type string[] as last listed by the daemon

--- Requests the models for later completions, because a completion must not wait for the response.
local function learn_models()
  if client.running() then
    client.request('agent/models', {}, function(err, res)
      models = err and models or vim.tbl_map(function(m)
        return m.id
      end, res.models)
    end)
  end
end

require('agent_lsp.events').on('ready', learn_models)

local fixed = {
  review = { 'tab', 'quickfix', 'diff' },
  edits = require('agent_lsp.policy').names,
  sessions = { 'resume', 'fork', 'rename', 'archive', 'export', 'delete' },
}

--- Completes the commands' arguments: fixed words, models, and in prompts the text after an @.
function M.complete(name, lead)
  local words = fixed[name]
  if name == 'model' then
    learn_models()
    words = models
  elseif not words then
    return vim.startswith(lead, '@') and require('agent_lsp.mention').at_once(lead:sub(2)) or {}
  end
  return vim.tbl_filter(function(w)
    return vim.startswith(w, lead)
  end, words)
end

return M
