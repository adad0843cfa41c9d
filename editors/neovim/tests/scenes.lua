--- The screens that screens.lua produces: the name of each screen, the model's script, and the
--- steps that lead to the screen.
---
--- A string step presses keys. A step with "see" waits until the screen shows the text, and a step
--- with "gone" waits until the screen no longer shows it. A step with "lua" waits until a chunk of
--- Lua returns a true value.
local here = debug.getinfo(1, 'S').source:sub(2):match('^(.*)/') or '.'

local function sample(name)
  local file = assert(io.open(here .. '/testdata/' .. name))
  local text = file:read('*a')
  file:close()
  return text
end

local files = {
  ['cart.go'] = sample('shop/cart.go'),
  ['cart_test.go'] = [[
package cart

import "testing"

func TestTotal(t *testing.T) {
	if got := Total(nil); got != 0 {
		t.Errorf("Total(nil) = %d, want 0", got)
	}
}
]],
  ['go.mod'] = 'module example.org/cart\n\ngo 1.26\n',
  ['docs/prices.md'] = '# Prices\n\nAll prices are in cents.\n',
}

local function call(name, arguments)
  return { name = name, arguments = arguments }
end

local function edit(path, edits)
  return call('edit', { path = path, edits = edits })
end

local read = call('read', { path = 'cart.go' })

local empty_basket = {
  old_string = 'func Total(items []Item) int {\n',
  new_string = 'func Total(items []Item) int {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n',
}
local quantity =
  { old_string = 'total += item.Price', new_string = 'total += item.Price * item.Quantity' }
local comment = { old_string = '// Count is the number of items.\n', new_string = '' }

local usage = { input = 5200, output = 80, cost = 0.0132 }
local looked = {
  reasoning = 'Total adds each price once.\nThe quantity is never used, and shipping is added even to nothing.',
  text = 'I will read the file first.',
  toolCalls = { read },
  usage = usage,
}
local changed = {
  text = 'Two changes in `cart.go:11`:\n\n- an **empty basket** costs nothing,\n- each price is *multiplied by its quantity*.\n',
  toolCalls = { edit('cart.go', { empty_basket, quantity }) },
  usage = { input = 6100, output = 160 },
}
local done = { text = 'Done: `Total` now counts quantities.' }

local function hunks(n)
  return {
    lua = ("return package.loaded['agent_lsp.hunks'] and require('agent_lsp.hunks').count() == %d"):format(
      n
    ),
  }
end

local function status(want)
  return {
    lua = ("return package.loaded['agent_lsp.panel'] and require('agent_lsp.panel').state.status == '%s'"):format(
      want
    ),
  }
end

local prompt =
  ':AgentPrompt Total ignores the quantity, and an empty basket should cost nothing. Please fix it.<CR>'
local proposed = { script = { looked, changed, done }, prompt, hunks(2), '13G' }

local trust = { permissions = { profile = 'trust' }, sandbox = 'off' }

--- Returns a scene that continues at the end of another scene.
local function from(scene, more)
  local out = vim.deepcopy(scene)
  for key, value in pairs(more) do
    if type(key) == 'string' then
      out[key] = value
    end
  end
  return vim.list_extend(out, more)
end

local stored = {
  script = {
    { text = 'Prices are whole cents, so no rounding is needed.' },
    { text = 'The test wants 0 and gets 100.' },
    { text = 'Yes.' },
  },
  ':AgentPrompt Are prices rounded anywhere?<CR>',
  { see = 'Prices are whole' },
  status('idle'),
  ':AgentNew<CR>:AgentPrompt Why does TestTotal fail?<CR>',
  { see = 'The test wants' },
  status('idle'),
}

local tools = {
  settings = trust,
  script = {
    {
      reasoning = 'First the tests.\nThen the code.',
      text = 'I will run the tests and look around.',
      toolCalls = {
        call('bash', {
          command = 'for i in 1 2 3 4 5 6; do echo "--- PASS: TestCart/case_$i (0.00s)"; done; echo ok',
        }),
        call('grep', { pattern = 'item\\.' }),
        call('ls', { path = '.' }),
        read,
        call('read', { path = 'nothing.go' }),
        call('bash', { command = 'echo "cart_test.go:7: Total(nil) = 100, want 0" >&2; exit 1' }),
      },
    },
    {
      text = '## What I found\n\n`Total` starts at **100**:\n\n```go\ntotal := 100 // shipping\n```\n\n| case | got | want |\n|---|---|---|\n| empty | 100 | 0 |\n\n1. See `cart.go:12`.\n2. See `cart_test.go:6`.\n',
    },
  },
  ':AgentPrompt Why does the test fail?<CR>',
  { see = 'cart_test.go:6' },
  status('idle'),
}

local endless = {
  text = 'The tests first.',
  toolCalls = { call('bash', { command = 'echo "go test ./..."; sleep 300' }) },
}

local M = { files = files, scenes = {} }

local function scene(name, steps)
  table.insert(M.scenes, { name = name, steps = steps })
end

scene('empty', { ':AgentToggle<CR>', { see = 'i  write a prompt' } })
scene('streaming', {
  script = {
    looked,
    {
      text = '`Total` adds each price **once** and ignores the quantity.\n\n'
        .. 'I will change two things:\n\n- an empty basket costs nothing,\n'
        .. '- each price is multiplied by its quantity',
      stall = true,
    },
  },
  prompt,
  { see = 'price is multiplied' },
})
scene('hunks', {
  script = {
    looked,
    {
      text = 'Three changes.',
      toolCalls = { edit('cart.go', { empty_basket, quantity, comment }) },
    },
    done,
  },
  prompt,
  hunks(3),
})
scene(
  'hunks-jump',
  from(proposed, {
    'gg]h',
    { lua = 'return vim.api.nvim_win_get_cursor(0)[1] == 12' },
    ']h',
    { lua = 'return vim.api.nvim_win_get_cursor(0)[1] == 14' },
  })
)
scene('jump-none', { ',n', { see = 'no pending hunks' } })
scene('accepted', from(proposed, { ':AgentAccept<CR>', hunks(1) }))
scene(
  'finished',
  from(proposed, { ':AgentAccept!<CR>', hunks(0), status('idle'), { see = 'keep all' } })
)
scene(
  'comment',
  from(
    proposed,
    { ',c', { see = 'Why not?' }, 'shipping is free over 50', { see = 'shipping is free' } }
  )
)
scene('edit', from(proposed, { ',e', { see = ':w accepts this' } }))
scene('stale', from(proposed, { '14GA // soon<Esc>', { see = 'stale' } }))
scene('diff', from(proposed, { ':AgentDiff<CR>', { see = 'proposed, editable' } }))
scene('review-two', {
  script = {
    looked,
    { toolCalls = { call('read', { path = 'docs/prices.md' }) } },
    {
      text = 'Code and page.',
      toolCalls = {
        edit('cart.go', { empty_basket, quantity }),
        edit('docs/prices.md', { { old_string = 'cents', new_string = 'cents, shipping too' } }),
      },
    },
    done,
  },
  settings = { editPolicy = 'collect' },
  prompt,
  hunks(3),
  ':AgentReview<CR>',
  { see = 'prices.md  1 hunk' },
  {
    lua = "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('agent_lsp_overview_syntax'), 0, -1, {}) > 5",
  },
})
scene('quickfix', from(proposed, { ':AgentReview quickfix<CR>', { see = '[modify]' } }))
scene('permission', {
  script = {
    {
      text = 'I will clean up.',
      toolCalls = {
        call('bash', { command = 'rm -rf build/ && mkdir -p build/out\ncp -r docs build/out' }),
      },
    },
  },
  ':AgentPrompt clean up the build folder<CR>',
  { see = 'Reject and give a reason' },
})
scene('permission-rules', {
  script = {
    {
      text = 'I will check it.',
      toolCalls = {
        call(
          'bash',
          { command = 'go vet ./... && go test -race ./internal/store ./internal/cart' }
        ),
      },
    },
  },
  ':AgentPrompt check the package<CR>',
  { see = 'Reject and give a reason' },
})
scene('permission-select', {
  script = {
    { text = 'I will clean up.', toolCalls = { call('bash', { command = 'rm -rf build/' }) } },
  },
  settings = {},
  ':AgentPrompt clean up the build folder<CR>:AgentToggle<CR>',
  { see = ':AgentAnswer opens' },
  ':AgentAnswer<CR>',
  { see = 'Allow once' },
})
scene('question', {
  script = {
    {
      text = 'One thing is open.',
      toolCalls = {
        call('ask_user', {
          question = 'Which currency should the totals be in?',
          options = {
            { label = 'Euro', description = 'as on the invoices' },
            { label = 'Dollar', description = 'as in the shop' },
          },
        }),
      },
    },
  },
  ':AgentPrompt print totals<CR>',
  { see = 'Write an answer' },
})
scene('question-multi', {
  script = {
    {
      toolCalls = {
        call('ask_user', {
          question = 'Which of these should I test?',
          multi = true,
          options = {
            { label = 'Total', description = 'the sum of all items' },
            { label = 'Count' },
            { label = 'Item', description = 'its zero value' },
          },
        }),
      },
    },
  },
  ':AgentPrompt write tests<CR>',
  { see = 'Send the marked' },
  '<C-w>l13',
  { see = '[x] Item' },
})
scene('queue', {
  settings = trust,
  script = { endless, { text = 'x' } },
  ':AgentPrompt run the tests<CR>',
  { see = 'go test' },
  ':AgentQueue then fix what fails<CR>:AgentQueue and write a changelog entry for it<CR>:AgentSteer only this package<CR>',
  { see = 'steers next' },
  { see = 'changelog' },
})
scene('queue-list', {
  settings = trust,
  script = { endless, { text = 'x' } },
  ':AgentPrompt run the tests<CR>',
  { see = 'go test' },
  ':AgentQueue then fix what fails<CR>:AgentQueue and write a changelog entry for it<CR>',
  { see = 'changelog' },
  ':AgentQueue<CR>',
  { see = 'Remove from the queue' },
})
scene('aborted', {
  settings = trust,
  script = { endless, { text = 'x' } },
  ':AgentPrompt run the tests<CR>',
  { see = 'go test' },
  ':AgentAbort<CR>',
  status('idle'),
})
scene('crash', {
  settings = trust,
  script = { endless, { text = 'x' } },
  ':AgentPrompt run the tests<CR>',
  { see = 'go test' },
  {
    lua = "require('agent_lsp.client').request('agent/status', {}, function(_, res) vim.uv.kill(res.pid, 'sigkill') end) return true",
  },
  { see = 'being restarted' },
  { see = 'c  continue the stopped turn' },
})
scene('retry', {
  script = { { error = { status = 529, message = 'Overloaded', retryAfter = 30 } }, done },
  ':AgentPrompt fix it<CR>',
  { see = 'trying again' },
})
scene('failed', {
  script = { { error = { status = 401, message = 'invalid api key' } } },
  ':AgentPrompt fix it<CR>',
  { see = 'key' },
  status('idle'),
})
scene('plan', {
  settings = trust,
  script = {
    {
      text = 'I will make a plan.',
      toolCalls = {
        call('plan', {
          entries = {
            { content = 'read `cart.go`', status = 'completed' },
            { content = 'count quantities', status = 'inProgress' },
            { content = 'run the tests', status = 'pending' },
          },
        }),
      },
    },
    endless,
  },
  ':AgentPrompt fix it<CR>',
  { see = 'count quantities' },
  { see = 'go test' },
})
scene('subagent-stopped', {
  settings = trust,
  script = {
    {
      text = 'I will ask a sub-agent to find the cause.',
      toolCalls = { call('agent', { agent = 'general', task = 'find out why TestTotal fails' }) },
    },
    {
      text = 'I will run it.',
      toolCalls = { call('bash', { command = 'go version; sleep 300' }) },
    },
    { text = 'It was stopped, so I will look myself.' },
  },
  ':AgentPrompt why does the test fail?<CR>',
  { see = '│ ● Run go' },
  '<C-w>l',
  '?Run go<CR>x',
  { see = 'I will look myself' },
  status('idle'),
})
scene('tools-fold', tools)
scene('tools-open', from(tools, { '<C-w>lzRgg' }))
scene(
  'input-menu',
  { ':AgentPrompt<CR>', { see = 'sends' }, 'look at @ca', { see = '@cart_test.go' } }
)
scene('input-menu2', { ':AgentPrompt<CR>', { see = 'sends' }, 'about @', { see = '@diagnostics' } })
scene('about', { ':11,17AgentPrompt<CR>', { see = 'about cart.go:11-17' }, 'why 100?' })
scene('sessions', from(stored, { ':AgentSessions<CR>', { see = 'Session to resume' } }))
scene(
  'restored',
  from(
    stored,
    { ':AgentSessions<CR>', { see = 'Session to resume' }, '2<CR>', { see = 'Prices are whole' } }
  )
)
scene(
  'exported',
  from(stored, {
    ':AgentSessions export<CR>',
    { see = 'Session to export' },
    '1<CR>',
    { see = 'gets 100' },
    { lua = "return vim.bo.filetype == 'markdown'" },
  })
)
scene(
  'new',
  from(
    stored,
    { ':AgentNew Shipping costs<CR>', { see = 'Shipping costs' }, { see = 'i  write a prompt' } }
  )
)
scene('model', { ':AgentModel<CR>', { see = 'Type number' } })
scene(
  'checkpoints',
  from(
    proposed,
    { ':AgentAccept!<CR>', hunks(0), status('idle'), ':AgentCheckpoints<CR>', { see = 'Restore' } }
  )
)
scene('log', {
  { lua = "require('agent_lsp.log').error('the daemon ended (signal 9)') return true" },
  ':AgentLog<CR>',
  { see = 'signal 9' },
})
scene('setup', { ':AgentSetup<CR>', { see = 'Other URL' } })
scene(
  'preview',
  from(proposed, {
    ':AgentAccept!<CR>',
    hunks(0),
    status('idle'),
    ':AgentCheckpoints<CR>',
    { see = 'Restore' },
    '1<CR>',
    { see = 'Enter restores' },
  })
)
scene(
  'undone',
  from(proposed, {
    ':AgentAccept!<CR>',
    hunks(0),
    status('idle'),
    ':AgentUndo<CR>',
    { see = 'undo this' },
  })
)
scene('health', { ':checkhealth agent_lsp<CR>', { see = 'version' } })
scene('compacted', from(stored, { ':AgentCompact<CR>', { see = 'the context was not reduced' } }))

--- The screens that are inspected before a release: one for each state of the panel.
M.main = {
  'empty',
  'streaming',
  'permission',
  'review-two',
  'finished',
  'failed',
  'sessions',
  'preview',
  'setup',
}

return M
