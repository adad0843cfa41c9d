// Bundles the extension (Node, CommonJS) and the panel (browser) into dist/.
import { build } from 'esbuild';

const dev = process.argv.includes('--dev');
const common = { bundle: true, minify: !dev, sourcemap: dev, logLevel: 'warning', legalComments: 'none' };

await Promise.all([
  build({ ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', platform: 'node', target: 'node20', external: ['vscode'], format: 'cjs' }),
  build({ ...common, entryPoints: ['src/webview/main.ts'], outfile: 'dist/panel.js', platform: 'browser', target: 'es2022', format: 'iife' }),
  build({ ...common, entryPoints: ['src/webview/panel.css'], outfile: 'dist/panel.css' }),
]);
