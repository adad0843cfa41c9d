// Runs checks in each theme in which the views are tested.
import { until } from '../workbench.mjs';

const themes = [
  ['dark', 'Dark Modern', 'vs-dark'],
  ['contrast', 'Default High Contrast', 'hc-black'],
  ['contrast-light', 'Default High Contrast Light', 'hc-light'],
  ['light', 'Light Modern', 'vs'],
];

/** Runs a function in each theme, with the theme's short name, and restores the previous theme. */
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

/** Checks that marked text is visible in the current theme, by its color or by a frame. */
export async function seen(d, marks, picture) {
  await until(`${marks} can be seen`, () =>
    d.page.locator(marks).evaluateAll((all) =>
      all.some((mark) => {
        const { backgroundColor, borderStyle, borderColor } = getComputedStyle(mark);
        const visible = (color) => !/, 0\)$|^transparent$/.test(color);
        return visible(backgroundColor) || (borderStyle !== 'none' && visible(borderColor));
      }),
    ),
  );
  await d.shot(picture);
}
