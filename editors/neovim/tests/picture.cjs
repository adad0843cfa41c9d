// node picture.cjs BACKGROUND < capture > page.html converts a tmux capture (-e -N) to a page that
// can be viewed or photographed.
const dark = process.argv[2] === 'dark';
const base = dark
  ? ['#000000', '#cd3131', '#0dbc79', '#e5e510', '#2472c8', '#bc3fbc', '#11a8cd', '#e5e5e5']
  : ['#000000', '#a31515', '#008000', '#795e26', '#0451a5', '#811f3f', '#267f99', '#555555'];
const color = (a, i) => {
  if (a[i + 1] === 2) return [`rgb(${a[i + 2]},${a[i + 3]},${a[i + 4]})`, i + 4];
  const n = a[i + 2];
  if (n < 16) return [base[n % 8], i + 2];
  if (n >= 232) return [`rgb(${Array(3).fill(8 + 10 * (n - 232))})`, i + 2];
  const level = (x) => (x ? 55 + 40 * x : 0);
  return [
    `rgb(${level(Math.floor((n - 16) / 36))},${level(Math.floor((n - 16) / 6) % 6)},${level((n - 16) % 6)})`,
    i + 2,
  ];
};
let s = {};
const sgr = (codes) => {
  const bare = codes
    .replace(/\b58:[\d:]*/g, '')
    .replace(/\b4:(\d)/g, (_, n) => (n === '0' ? '24' : '4')); // undercurls and their color
  const a = bare.split(/[;:]/).map(Number);
  for (let i = 0; i < a.length; i++) {
    const c = a[i];
    if (c === 0) s = {};
    else if (c === 1) s.bold = true;
    else if (c === 22) s.bold = false;
    else if (c === 3) s.italic = true;
    else if (c === 23) s.italic = false;
    else if (c === 4) s.under = true;
    else if (c === 24) s.under = false;
    else if (c === 7) s.reverse = true;
    else if (c === 27) s.reverse = false;
    else if (c === 39) delete s.fg;
    else if (c === 49) delete s.bg;
    else if (c === 38) [s.fg, i] = color(a, i);
    else if (c === 48) [s.bg, i] = color(a, i);
    else if (c >= 30 && c < 38) s.fg = base[c - 30];
    else if (c >= 40 && c < 48) s.bg = base[c - 40];
  }
};
const page = dark ? ['#e0e2ea', '#14161b'] : ['#14161b', '#e0e2ea'];
const style = () => {
  let [fg, bg] = [s.fg || page[0], s.bg || page[1]];
  if (s.reverse) [fg, bg] = [bg, fg];
  return `color:${fg};background:${bg}${s.bold ? ';font-weight:bold' : ''}${s.italic ? ';font-style:italic' : ''}${s.under ? ';text-decoration:underline' : ''}`;
};
const entities = (t) => t.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
let out = '';
for (const line of require('node:fs').readFileSync(0, 'utf8').replace(/\n$/, '').split('\n')) {
  for (const part of line.split(/(\x1b\[[\d;:]*m)/)) {
    const m = /^\x1b\[([\d;:]*)m$/.exec(part);
    if (m) sgr(m[1] || '0');
    else if (part) out += `<span style="${style()}">${entities(part)}</span>`;
  }
  out += '\n';
}
console.log(
  `<meta charset="utf-8"><style>body{margin:8px;background:${page[1]}}pre{margin:0;font:14px/17px "DejaVu Sans Mono",monospace}</style><pre>${out}</pre>`,
);
