--- Tests the main task on real input. The workspace is a copy of this repository, and the model
--- changes one of its files. CASE=repository editors/neovim/tests/run.sh self runs only this test.
local H = require('harness')

local repo = assert(vim.env.REPO, 'REPO must name the repository')

--- Copies the current content of the files that git tracks into the workspace of the case.
local function copy()
  local command = 'git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c \'for f; do [ ! -e "$f" ] || printf "%s\\0" "$f"; done\' sh'
    .. ' | xargs -0 cp --parents -t "$0"'
  local done = vim
    .system({ 'sh', '-c', command, H.dir }, { cwd = repo, text = true })
    :wait(H.deadline)
  H.equal(done.code, 0, done.stderr)
end

H.case(
  'this repository: an edit to one of its own files is proposed and decided hunk by hunk',
  function()
    local path = 'cmd/agent-lsp/main.go'
    H.start({
      settings = { permissions = { profile = 'trust' }, sandbox = 'off' },
      script = {
        H.call('grep', { pattern = 'func main' }),
        H.call('read', { path = path }),
        H.call('edit', {
          path = path,
          edits = {
            {
              old_string = 'func main() {\n',
              new_string = '// main runs the command line.\nfunc main() {\n',
            },
            { old_string = 'os.Exit(cli.Run(', new_string = 'os.Exit(cli.Start(' },
          },
        }),
        H.call('bash', { command = 'gofmt -l cmd/agent-lsp' }),
        { text = 'Done.' },
      },
    })
    copy()
    local original = H.read(H.dir .. '/' .. path)
    local buf = H.edit(path)
    vim.api.nvim_buf_set_lines(buf, 0, 1, false, { '// Command agent-lsp, unsaved.' })
    vim.cmd('AgentPrompt give main a comment')
    H.hunks(2)
    local function at(text)
      for i, line in ipairs(H.lines(buf)) do
        if line:find(text, 1, true) then
          return vim.api.nvim_win_set_cursor(0, { i, 0 })
        end
      end
      error(text .. ' is not there')
    end
    at('func main() {')
    vim.cmd('AgentAccept')
    H.hunks(1)
    at('os.Exit(cli.Run(')
    vim.cmd('AgentReject the name is good as it is')
    H.equal(H.turn().status, 'completed')
    local want = original
      :gsub('^[^\n]*', '// Command agent-lsp, unsaved.')
      :gsub('func main%(%) {', '// main runs the command line.\n%0')
    H.equal(table.concat(H.lines(buf), '\n') .. '\n', want)
    local results = {}
    for _, p in ipairs(H.all('item/completed')) do
      results[p.item.name or ''] = p.item.result
    end
    H.matches(results.grep, 'cmd/agent%-lsp/main.go')
    H.matches(results.edit, 'the name is good as it is')
    H.equal(results.bash:find('main.go'), nil, 'gofmt would change it')
    H.equal(H.read(H.dir .. '/' .. path), want, 'the command met old text')
  end
)

H.run()
