// node format.cjs STYLUA_DIR [--write] FILES...
//
// Runs StyLua, whose npm package is a library, with the settings of .stylua.toml.
const fs = require('node:fs');
const path = require('node:path');
const [dir, ...rest] = process.argv.slice(2);
const write = rest[0] === '--write';
const files = write ? rest.slice(1) : rest;
const S = require(path.join(dir, 'node_modules/@johnnymorganz/stylua/stylua_lib_node.cjs'));
const toml = fs.readFileSync(path.join(__dirname, '../.stylua.toml'), 'utf8');
const value = (key) => new RegExp(`^${key}\\s*=\\s*"?([^"\\n]+)"?`, 'm').exec(toml)[1];
let bad = 0;
for (const file of files) {
  const config = S.Config.new();
  config.column_width = Number(value('column_width'));
  config.indent_type = S.IndentType[value('indent_type')];
  config.indent_width = Number(value('indent_width'));
  config.quote_style = S.QuoteStyle[value('quote_style')];
  const text = fs.readFileSync(file, 'utf8');
  const formatted = S.formatCode(text, config, undefined, S.OutputVerification.None);
  if (formatted === text) continue;
  if (write) {
    fs.writeFileSync(file, formatted);
    continue;
  }
  bad++;
  const was = text.split('\n');
  const line = formatted.split('\n').findIndex((l, i) => l !== was[i]);
  console.log(`${file}:${line + 1}: stylua would change it (scripts/lua.sh --format)`);
}
process.exit(bad ? 1 : 0);
