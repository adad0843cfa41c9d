--- Checks the help file and the README against the code, and tests the ways to install the plugin.
local H = require('harness')

local help = H.read(H.plugin .. '/doc/agent_lsp.txt')

local function has(text, what)
  if not help:find(text, 1, true) then
    error(('%s %s is not in doc/agent_lsp.txt'):format(what, text), 2)
  end
end

H.case('every command has a tag in the help file, and every tag has a command', function()
  local there = {}
  for name in pairs(vim.api.nvim_get_commands({})) do
    if name:match('^Agent') then
      has(('*:%s*'):format(name), 'command')
      there[name] = true
    end
  end
  for name in help:gmatch('%*:(Agent%a+)%*') do
    H.equal(there[name], true, name)
  end
  for _, name in ipairs({
    'Prompt',
    'Steer',
    'Queue',
    'Abort',
    'Toggle',
    'New',
    'Sessions',
    'Review',
    'Accept',
    'Reject',
    'Edit',
    'Diff',
    'Fix',
    'Undo',
    'Checkpoints',
    'Model',
    'Compact',
    'Log',
  }) do
    H.equal(there['Agent' .. name], true, name)
  end
end)

H.case('every mapping is in the help file, and every documented mapping exists', function()
  local count = 0
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    if map.lhs:find('agent-lsp', 1, true) then
      has(map.lhs, 'mapping')
      H.equal(map.lhs:match('^<Plug>') ~= nil, true, 'a default key: ' .. map.lhs)
      count = count + 1
    end
  end
  local told = {}
  for lhs in help:gmatch('<Plug>%b()') do
    told[lhs] = true
    H.equal(vim.fn.maparg(lhs, 'n') ~= '', true, lhs)
  end
  H.equal(vim.tbl_count(told), count)
end)

H.case('every option is in the help file with its default', function()
  local defaults = require('agent_lsp.config').defaults
  local block = assert(help:match("require%('agent_lsp'%)%.setup%((%b{})%)"))
  local told = assert(loadstring('return ' .. block))()
  told.root_markers, told.cmd = defaults.root_markers, nil
  H.equal(told, defaults)
end)

H.case('the Lua API, the events and the highlights are in the help file', function()
  for name in pairs(require('agent_lsp')) do
    has(('*agent_lsp.%s()*'):format(name), 'function')
  end
  require('agent_lsp.panel')
  require('agent_lsp.draw')
  for name in pairs(vim.api.nvim_get_hl(0, {})) do
    if name:match('^AgentLsp') then
      has(name, 'highlight')
    end
  end
  local emit = require('agent_lsp.events')
  local names = { 'ready', 'exit', 'session', 'review', 'pending' }
  local client = H.read(H.plugin .. '/lua/agent_lsp/client.lua')
  for method in client:gmatch("\n  'agent/([%a/]+)',") do
    table.insert(names, method ~= 'delta' and method or nil)
  end
  for _, name in ipairs(names) do
    has(emit.pattern(name), 'event')
  end
  H.equal(#names, 17)
end)

H.case('the tags of the help file are current, and its lines fit 78 columns', function()
  local dir = H.workspace()
  vim.fn.mkdir(dir .. '/doc')
  H.write(dir .. '/doc/agent_lsp.txt', help)
  vim.cmd.helptags(dir .. '/doc')
  H.matches(H.read(dir .. '/doc/tags'), ':AgentPrompt\t')
  -- The tags are kept in the repository, because most installation methods do not generate tags in
  -- a subfolder.
  H.equal(
    H.read(H.plugin .. '/doc/tags'),
    H.read(dir .. '/doc/tags'),
    'doc/tags is not current: :helptags editors/neovim/doc'
  )
  for _, line in ipairs(vim.split(help, '\n')) do
    H.equal(vim.fn.strdisplaywidth(line) <= 78, true, line)
  end
end)

H.case('commands complete their arguments', function()
  H.start({
    files = { ['a.txt'] = 'one\n', ['dir/deep.txt'] = 'deep\n' },
    script = { { expect = { lastUser = 'deep' }, text = 'ok' } },
  })
  H.edit('a.txt')
  H.equal(vim.fn.getcompletion('AgentSessions r', 'cmdline'), { 'resume', 'rename' })
  H.equal(vim.fn.getcompletion('AgentReview ', 'cmdline'), { 'tab', 'quickfix', 'diff' })
  for _, name in ipairs({ 'Prompt', 'Steer', 'Queue', 'Fix', 'Compact', 'New', 'Accept', 'Reject' }) do
    H.equal(
      vim.fn.getcompletion(('Agent%s look at @dir/'):format(name), 'cmdline'),
      { '@dir/deep.txt' },
      name
    )
  end
  H.equal(vim.fn.getcompletion('AgentPrompt @d', 'cmdline'), { '@diagnostics', '@dir/' })
  vim.cmd('AgentPrompt look at @dir/deep.txt')
  H.equal(H.turn().status, 'completed')
  H.wait('the models', function()
    return #vim.fn.getcompletion('AgentModel ', 'cmdline') > 0
  end)
end)

H.case('only the health check makes calls that block the main loop', function()
  for name in vim.fs.dir(H.plugin .. '/lua/agent_lsp') do
    local text = name ~= 'health.lua' and H.read(H.plugin .. '/lua/agent_lsp/' .. name) or ''
    if name == 'setup.lua' then -- vim.ui.input cannot hide the key
      text = text:gsub('vim%.fn%.inputsecret%(', '', 1)
    end
    for _, call in ipairs({
      ':wait%(',
      'vim%.wait%(',
      'request_sync',
      'fn%.system',
      'io%.popen',
      'os%.execute',
      'fn%.getchar',
      'fn%.confirm',
      'fn%.input',
      'uv%.sleep',
      'fn%.rpcrequest',
    }) do
      H.equal(text:find(call), nil, name .. ': ' .. call)
    end
  end
end)

--- Runs a separate Neovim that is configured as the README describes, and checks that the plugin is
--- available, finds the daemon and sends a prompt.
local function installed(config)
  local dir = H.workspace({ ['init.lua'] = config })
  local check = dir .. '/check.lua'
  H.write(
    check,
    [[
vim.cmd.runtime({ 'plugin/agent_lsp.lua' })
assert(vim.fn.exists(':AgentPrompt') == 2, 'no command')
assert(require('agent_lsp.config').plugin_dir():find('editors/neovim$'), require('agent_lsp.config').plugin_dir())
assert(#vim.api.nvim_get_runtime_file('doc/agent_lsp.txt', true) == 1, 'no help file')
vim.cmd.help(':AgentPrompt')
vim.cmd.helpclose()
local status
require('agent_lsp').on('turn/completed', function(p) status = p.turn.status end)
vim.cmd('AgentPrompt hello')
assert(vim.wait(60000, function() return status end, 5), 'no turn')
io.stdout:write('there, ', status)
vim.cmd('qa!')
]]
  )
  -- `make build` puts the binary next to the plugin. Otherwise the binary is on PATH.
  vim.fn.mkdir(dir .. '/bin', 'p')
  vim.uv.fs_symlink(H.bin, dir .. '/bin/agent-lsp')
  H.write(
    dir .. '/script.jsonl',
    vim.json.encode({ expect = { lastUser = 'hello' }, text = 'Hello.' }) .. '\n'
  )
  local env = {
    XDG_DATA_HOME = dir .. '/data',
    XDG_CONFIG_HOME = dir .. '/config',
    XDG_STATE_HOME = dir .. '/state',
    AGENT_LSP_SCRIPT = dir .. '/script.jsonl',
    PATH = dir .. '/bin:' .. vim.env.PATH,
  }
  local done = vim
    .system({
      vim.v.progpath,
      '--headless',
      '-i',
      'NONE',
      '-u',
      dir .. '/init.lua',
      '-c',
      'luafile ' .. check,
    }, { text = true, env = env, cwd = dir })
    :wait(H.deadline)
  H.matches((done.stdout or '') .. (done.stderr or ''), 'there, completed')
end

local repo = vim.fs.dirname(vim.fs.dirname(H.plugin))
local readme = H.read(H.plugin .. '/README.md')

--- Returns the code block below a heading in the README.
local function snippet(heading)
  return assert(readme:match('### ' .. vim.pesc(heading) .. '.-```%a+\n(.-)```'), heading)
end

--- Reports whether a package manager's build command is a target of the Makefile.
local function built(command)
  local target = command:match('^make (%a+)$')
  return target ~= nil and H.read(repo .. '/Makefile'):find('\n' .. target .. ':') ~= nil
end

--- Creates a repository to clone, with the plugin's current files and a build that does nothing.
local function repository()
  local dir = H.workspace() .. '/agent-lsp'
  vim.fn.mkdir(dir .. '/editors', 'p')
  H.write(dir .. '/Makefile', 'build:\n\ttouch built\n')
  vim.fn.system({ 'cp', '-r', H.plugin, dir .. '/editors/neovim' })
  local git = 'git -c user.name=t -c user.email=t@example.org -c init.defaultBranch=main -C ' .. dir
  vim.fn.system(('%s init -q && %s add -A && %s commit -qm all'):format(git, git, git))
  return 'file://' .. dir
end

--- No package registry has lazy.nvim or vim-plug, so the cases below imitate them. If LAZY_NVIM or
--- VIM_PLUG names a checkout, another case installs the plugin with the real plugin manager, from a
--- local repository.
if vim.env.LAZY_NVIM then
  H.case('installed by lazy.nvim itself', function()
    local spec = snippet('lazy.nvim'):gsub(
      "'agent%-lsp/agent%-lsp'",
      ("url = '%s', name = 'agent-lsp'"):format(repository())
    )
    -- The Neovim of these tests has its parsers in a folder that lazy.nvim does not search.
    local options = '{ performance = { rtp = { reset = false } } }'
    installed(
      ('vim.opt.rtp:prepend(%q)\nrequire("lazy").setup({ %s }, %s)'):format(
        vim.env.LAZY_NVIM,
        spec,
        options
      )
    )
  end)
end

if vim.env.VIM_PLUG then
  H.case('installed by vim-plug itself', function()
    local plug =
      vim.trim(snippet('vim-plug')):gsub("'agent%-lsp/agent%-lsp'", ("'%s'"):format(repository()))
    local lines = {
      'source ' .. vim.env.VIM_PLUG .. '/plug.vim',
      "call plug#begin(stdpath('data') .. '/plugged')",
      plug,
      'call plug#end()',
    }
    installed(
      ('vim.cmd(%q)\nvim.cmd("PlugInstall --sync | only | enew")\nvim.cmd(%q)'):format(
        table.concat(lines, '\n'),
        table.concat(lines, '\n')
      )
    )
  end)
end

H.case('installed by lazy.nvim', function()
  -- lazy.nvim itself is not installed here. It runs build, adds the clone to the runtimepath,
  -- sources the files in the clone's plugin folder, and calls config.
  local spec = assert(loadstring('return ' .. snippet('lazy.nvim')))()
  H.equal({ spec.lazy, built(spec.build) }, { false, true })
  installed(
    ('local spec = %s\nvim.opt.rtp:prepend(%q)\nspec.config({ dir = %q })'):format(
      snippet('lazy.nvim'),
      repo,
      repo
    )
  )
end)

H.case('installed by vim-plug', function()
  local options = assert(snippet('vim-plug'):match('%b{}'))
  H.equal(vim.fn.eval(options).rtp, 'editors/neovim')
  H.equal(built(vim.fn.eval(options)['do']), true)
  -- The rtp option of vim-plug has the same effect.
  installed(('vim.opt.rtp:prepend(%q)'):format(repo .. '/editors/neovim'))
end)

H.case('installed as a package', function()
  local home = H.workspace()
  local env = { HOME = home, XDG_DATA_HOME = home .. '/.local/share' }
  local script = snippet('As a package')
    :gsub('git clone [^\n]*', ('ln -s %s ~/.local/share/nvim/agent-lsp'):format(repo))
    :gsub('make [^\n]*\n', '')
  vim.fn.mkdir(home .. '/.local/share/nvim', 'p')
  local done = vim.system({ 'sh', '-ec', script }, { env = env, text = true }):wait(H.deadline)
  H.equal(done.code, 0, done.stderr)
  -- This folder is in Neovim's default packpath.
  installed(('vim.opt.packpath:prepend(%q)'):format(home .. '/.local/share/nvim/site'))
end)

H.case('installed by pathogen', function()
  assert(vim.env.PATHOGEN, 'PATHOGEN must name the folder of vim-pathogen; run.sh gets it')
  local home = H.workspace()
  vim.fn.mkdir(home .. '/.local/share/nvim', 'p')
  -- This installs the built clone as a package.
  vim.uv.fs_symlink(repo, home .. '/.local/share/nvim/agent-lsp')
  local done = vim
    .system({ 'sh', '-ec', snippet('pathogen') }, { env = { HOME = home }, text = true })
    :wait(H.deadline)
  H.equal(done.code, 0, done.stderr)
  local rtp = { home .. '/.config/nvim', vim.env.PATHOGEN }
  installed(
    ('vim.opt.rtp:prepend(%s)\nvim.cmd("execute pathogen#infect()")'):format(vim.inspect(rtp))
  )
end)

H.case('installed by Neovim alone', function()
  local config =
    snippet('Neovim alone'):gsub("vim%.fn%.stdpath%('data'%) %.%. '[^']*'", ('%q'):format(repo))
  H.matches(config, vim.pesc(repo))
  installed(config)
end)

if vim.fn.has('nvim-0.12') == 1 then
  H.case('installed by vim.pack', function()
    local config = snippet('vim.pack')
      :gsub('https://[%w%./%-]+', repository())
      :gsub('%)\n', ', { confirm = false })\n', 1)
    installed(config)
  end)
end

H.run()
