// The themes in which every view is checked.
const themes = [
  ['dark', 'Dark Modern', 'vs-dark'],
  ['contrast', 'Default High Contrast', 'hc-black'],
  ['contrast-light', 'Default High Contrast Light', 'hc-light'],
  ['light', 'Light Modern', 'vs'],
];

/** Runs a function in each theme with its short name, and restores the previous theme. */
export async function inThemes(d, look) {
  for (const [name, theme, base] of themes) {
    await d.configure('workbench.colorTheme', theme);
    await d.page.locator(`.monaco-workbench.${base}`).waitFor();
    if (await d.input.isVisible())
      await d.panel.locator(`body[data-vscode-theme-id="${theme}"]`).waitFor();
    await look(name);
  }
  await d.configure('workbench.colorTheme', process.env.THEME ?? null);
}

/** Runs a function in each theme if pictures are taken, and otherwise once. */
export const pictured = (d, look) => (d.shots ? inThemes(d, look) : look('default'));
