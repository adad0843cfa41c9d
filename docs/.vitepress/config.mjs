// Configures the documentation site. It shows the unchanged Markdown files in docs/, with search
// and two color schemes.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const docs = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const top = path.dirname(docs);
const repository = 'https://github.com/agent-lsp/agent-lsp';

// title returns a page's first heading.
function title(file) {
  return /^# (.*)$/m.exec(readFileSync(path.join(docs, file), 'utf8'))[1].replaceAll('`', '');
}

// listed returns the pages of a folder in the order in which its index page links to them.
function listed(folder) {
  const index = readFileSync(path.join(docs, folder, 'README.md'), 'utf8');
  const files = [...index.matchAll(/\]\(([\w./-]+\.md)\)/g)].map((m) =>
    path.posix.join(folder, m[1]),
  );
  const inside = files.filter((file) => file.startsWith(folder + '/'));
  return [...new Set(inside)].map((file) => {
    const children = file.endsWith('/README.md') ? listed(path.posix.dirname(file)) : undefined;
    const link = '/' + file.replace(/README\.md$/, '').replace(/\.md$/, '');
    return children
      ? { text: title(file), link, items: children, collapsed: true }
      : { text: title(file), link };
  });
}

const shelves = readdirSync(docs, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && ['use', 'reference', 'contribute'].includes(entry.name))
  .map((entry) => entry.name)
  .sort(
    (a, b) =>
      ['use', 'reference', 'contribute'].indexOf(a) - ['use', 'reference', 'contribute'].indexOf(b),
  );

// outward makes a link that leaves docs/ point to the repository.
function outward(md) {
  md.core.ruler.push('outward', (state) => {
    for (const token of state.tokens.flatMap((t) => t.children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^([a-z]+:|#|\/)/.test(href)) continue;
      const [file, anchor] = href.split('#');
      const target = path.relative(
        top,
        path.resolve(path.dirname(state.env.path), decodeURIComponent(file)),
      );
      if (target.startsWith('docs' + path.sep)) continue;
      token.attrSet('href', `${repository}/blob/main/${target}${anchor ? '#' + anchor : ''}`);
    }
  });
}

// grammars maps each language that only the page tests know to a grammar for highlighting.
const grammars = {
  file: 'txt',
  search: 'txt',
  replace: 'txt',
  result: 'txt',
  refused: 'txt',
  rules: 'txt',
  classes: 'txt',
  patch: 'diff',
};

function colors(md) {
  md.core.ruler.push('colors', (state) => {
    for (const token of state.tokens) {
      if (token.type === 'fence') token.info = grammars[token.info.trim()] ?? token.info;
    }
  });
}

// escaped matches a character of HTML, which may be escaped.
const escaped = /&\w+;|&#\d+;|./gu;

// whole wraps a text so that it is never broken over two lines.
const whole = (html) => `<span class="whole">${html}</span>`;

// length returns the number of characters that the reader sees.
const length = (html) => html.match(escaped)?.length ?? 0;

// codeInTable allows a break within a word, because the column of a table may be narrow.
const codeInTable = (html) =>
  length(html) <= 9 ? whole(html) : html.replace(/[/_.](?=\w)|[a-z](?=[A-Z])/g, '$&<wbr>');

// codeInProse allows breaks only between the words of long code. A word that is wider than the
// window of a phone has no span, so that the style sheet breaks it.
const codeInProse = (html) =>
  length(html) <= 24
    ? whole(html)
    : html.replace(/[^ ]+/g, (word) => (length(word) <= 34 ? whole(word) : word));

// breaks determines where code and the program's name may continue on the next line.
function breaks(md) {
  md.core.ruler.push('in-table', (state) => {
    let inTable = false;
    for (const token of state.tokens) {
      if (/^table_(open|close)$/.test(token.type)) inTable = token.type === 'table_open';
      for (const child of token.children ?? []) child.meta = { ...child.meta, inTable };
    }
  });
  const { code_inline: code, text } = md.renderer.rules;
  md.renderer.rules.code_inline = (tokens, i, ...rest) =>
    code(tokens, i, ...rest).replace(
      /(?<=>)[^<]+/,
      tokens[i].meta?.inTable ? codeInTable : codeInProse,
    );
  md.renderer.rules.text = (...args) => text(...args).replace(/\bagent-lsp\b/g, whole);
}

// slug converts a heading to an anchor as GitHub does, so that a link works on both sites.
function slug(text) {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

export default defineConfig({
  title: 'agent-lsp',
  description: 'A coding agent that any editor can start like a language server',
  lang: 'en',
  srcExclude: ['.vitepress/**'],
  outDir: path.join(top, 'dist', 'site'),
  cacheDir: path.join(top, 'bin', 'site-cache'),
  cleanUrls: true,
  rewrites: (id) => id.replace(/README\.md$/, 'index.md'),
  // The pages are not in the folder that contains node_modules, so Vite needs the path of vue.
  vite: {
    resolve: { alias: { vue: path.join(docs, '.vitepress', 'node_modules', 'vue') } },
    publicDir: path.join(docs, '.vitepress', 'public'),
  },
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/icon.svg' }]],
  // The front page has its own style, and needs neither an outline nor a link to the next page.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath === 'index.md'
      ? { frontmatter: { ...frontmatter, pageClass: 'front', aside: false, next: false } }
      : {},
  markdown: {
    anchor: { slugify: slug },
    config: (md) => [outward, colors, breaks].forEach((change) => change(md)),
  },
  themeConfig: {
    logo: { src: '/icon.svg', alt: '' },
    nav: shelves.map((folder) => ({ text: title(`${folder}/README.md`), link: `/${folder}/` })),
    sidebar: shelves.map((folder) => ({
      text: title(`${folder}/README.md`),
      link: `/${folder}/`,
      items: listed(folder),
    })),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
  },
});
