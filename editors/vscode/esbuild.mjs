// Bundles the extension (Node, CommonJS) and the panel (browser) into dist/, together with the
// licenses of the bundled packages.
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const dev = process.argv.includes('--dev');
const common = {
  bundle: true,
  minify: !dev,
  sourcemap: dev,
  logLevel: 'warning',
  legalComments: 'none',
  metafile: true,
};

const built = await Promise.all([
  build({
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    target: 'node20',
    external: ['vscode'],
    format: 'cjs',
  }),
  build({
    ...common,
    entryPoints: ['src/webview/main.ts'],
    outfile: 'dist/panel.js',
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
  }),
  build({ ...common, entryPoints: ['src/webview/panel.css'], outfile: 'dist/panel.css' }),
]);

/** The paths of the bundled files. */
const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
const bundled = new Set(
  inputs.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]).filter(Boolean),
);

/** Returns the texts of a package's license files. */
function licenses(folder) {
  const { name, version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const files = fs
    .readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice|thirdpartynotices)/i.test(file));
  if (files.length === 0) throw new Error(`${name} has no license`);
  return files
    .sort()
    .map(
      (file) =>
        `==== ${name} ${version}: ${file} ====\n\n${fs.readFileSync(path.join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim()}\n`,
    );
}

fs.writeFileSync('dist/licenses.txt', [...bundled].sort().flatMap(licenses).join('\n'));
