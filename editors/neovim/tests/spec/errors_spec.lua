--- Tests how the panel shows errors: their text, the keys that can resolve them, and the single
--- line for all retries of a call.
local H = require('harness')

local function failing(err)
  local script = { { error = err }, { text = 'Works.' } }
  H.start({ settings = { retry = { maxRetries = 0 } }, script = script })
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'failed')
end

local function shown(text)
  return H.wait(text, function()
    return H.panel_text():find(text, 1, true)
  end)
end

local function press(key)
  vim.api.nvim_set_current_win(require('agent_lsp.transcript').window())
  vim.api.nvim_feedkeys(key, 'xt', false)
end

H.case('an authentication error first says what is wrong with the key; K enters another', function()
  failing({ status = 401, message = 'Incorrect API key provided' })
  shown('✗ `The API key of script is invalid: Incorrect API key provided`')
  H.equal(H.panel_text():find('OPENAI_API_KEY', 1, true), nil, 'variables of a shell')
  shown(' K  enter another API key')
  shown(' M  choose another model (:AgentModel)')
  local setup = require('agent_lsp.setup')
  local entered
  setup.enter_key = function(o, _, after)
    entered = { o = o, after = after }
  end
  local session = require('agent_lsp.transcript').session
  local params = { sessionId = session, config = { model = 'anthropic/m' } }
  H.request('agent/session/configure', params)
  press('K')
  H.wait('the question for the key', function()
    return entered
  end)
  H.equal(entered.o.name, 'anthropic')
  entered.after()
  H.wait('the test call', function()
    return vim.iter(H.notices):any(function(n)
      return n.text:find('anthropic/m answered', 1, true)
    end)
  end)
  vim.cmd('AgentPrompt again')
  H.equal(H.turn(2).status, 'failed', 'the test call took the reply')
end)

H.case('a missing key is not reported as invalid', function()
  local text = require('agent_lsp.failure').text
  local invalid = 'the API key of openai is invalid: no (check the API key: X)'
  H.equal(text({ kind = 'auth', message = invalid }), 'The API key of openai is invalid: no')
  local missing = { 'getting the API key: no command', 'the key of a is not set: set A' }
  for _, message in ipairs(missing) do
    H.equal(text({ kind = 'auth', message = message }), 'There is no API key: ' .. message)
  end
  H.equal(text({ kind = 'client', message = 'no such model' }), 'no such model')
end)

H.case(
  'a server error offers another provider, and the offer disappears when the next turn begins',
  function()
    failing({ status = 500, message = 'oops' })
    shown('✗ `oops')
    shown(' S  change the URL or the provider (:AgentSetup)')
    shown(' c  try again')
    vim.cmd('AgentPrompt again')
    H.equal(H.turn(2).status, 'completed')
    H.wait('the offer to go', function()
      return not H.panel_text():find('change the URL', 1, true)
    end)
  end
)

H.case('M chooses another model', function()
  failing({ status = 429, code = 'insufficient_quota', message = 'no credit' })
  shown('✗ `The account has no credit left: no credit')
  press('M')
  H.wait('the list', function()
    return H.asked[1] and H.asked[1].text == 'Model'
  end)
end)

H.case('all retries of a call share one line', function()
  local busy = { error = { status = 529, message = 'busy', retryAfter = 1 } }
  H.start({ script = { busy, busy, { text = 'Works.' } } })
  vim.cmd('AgentPrompt go')
  shown('busy; trying again in 1 s (1 of ')
  shown('busy; trying again in 1 s (2 of ')
  H.equal(H.turn().status, 'completed')
  H.equal(select(2, H.panel_text():gsub('trying again', '')), 1)
end)

H.case('the user can locate a missing program, and its path is kept', function()
  H.start({ script = { { text = 'Works.' } } })
  local config = require('agent_lsp.config')
  local plugin_dir, path = config.plugin_dir, vim.env.PATH
  require('agent_lsp').setup({})
  config.plugin_dir = function()
    return H.dir .. '/nowhere/deep'
  end
  vim.env.PATH = '/nonexistent'
  vim.cmd('AgentPrompt go')
  shown('the agent-lsp program was not found next to the plugin or on PATH')
  shown(' L  locate the agent-lsp program on this machine')
  shown(' O  open its download page')
  local opened
  vim.ui.open = function(address)
    opened = address
  end
  press('O')
  H.matches(opened, '^https://.*/releases$')
  H.choose(H.dir .. '/nowhere')
  press('L')
  H.wait('the refusal', function()
    return H.notices[#H.notices].text:find('is not an executable program', 1, true)
  end)
  vim.env.PATH = path
  H.choose(H.bin)
  press('L')
  H.wait('the end of the offer', function()
    return not H.panel_text():find('locate the agent-lsp program', 1, true)
  end)
  vim.env.PATH = '/nonexistent'
  H.equal(config.command(), { H.bin })
  vim.env.PATH = path
  vim.cmd('AgentPrompt go')
  H.equal(H.turn().status, 'completed')
  config.plugin_dir = plugin_dir
  os.remove(vim.fn.stdpath('state') .. '/agent_lsp/program')
end)

H.run()
