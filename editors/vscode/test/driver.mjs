// Performs the tests' actions in the workbench. The methods are named from a user's perspective.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { until } from './workbench.mjs';

/** The titles of the palette commands that any driver in this run has used. */
export const driven = new Set();

/**
 * Sets the text of an input in one step. Typed text would go to the editor if the editor took the
 * focus at the same moment, as it does after a decision.
 */
const setText = (input, text) =>
  input.evaluate(
    (node, text) => {
      node.focus();
      node.value = text;
      node.dispatchEvent(new InputEvent('input', { bubbles: true }));
    },
    text,
    { timeout: 5000 },
  );

export class Driver {
  constructor({ page, dir, workspace, url, lap, socket }) {
    Object.assign(this, { page, dir, workspace, url, lap, socket });
    this.script = path.join(dir, 'script.jsonl');
    this.shots = process.env.SHOTS;
    this.step = '';
  }

  async open(query) {
    this.elsewhere = query !== undefined;
    fs.rmSync(this.socket, { force: true });
    await this.page.goto(this.url(query ?? { folder: this.workspace }));
    await this.up();
  }

  /** Reloads the window as a user does. */
  async reload() {
    fs.rmSync(this.socket, { force: true });
    await this.run('Developer: Reload Window');
    await this.up();
  }

  async up() {
    await this.page.locator('.monaco-workbench .statusbar').waitFor();
    await until('the extension host is up', () => fs.existsSync(this.socket));
  }

  /**
   * Runs an editor command through the companion, and waits until the command ends. Steps use it
   * mainly for preparations.
   */
  command(command, ...args) {
    return new Promise((resolve, reject) => {
      let text = '';
      setTimeout(() => reject(new Error(`${command}: no answer`)), 120_000).unref();
      const socket = net.connect(this.socket, () =>
        socket.write(`${JSON.stringify({ command, args })}\n`),
      );
      socket
        .setEncoding('utf8')
        .on('data', (data) => (text += data))
        .on('error', reject)
        .on('end', () => {
          if (!text) return reject(new Error(`${command}: the extension host went away`));
          const { result, error } = JSON.parse(text);
          if (error) reject(new Error(`${command}: ${error}`));
          else resolve(result);
        });
    });
  }

  get panel() {
    return this.webview('agent-lsp.agent-lsp');
  }

  webview(extension) {
    return this.page
      .frameLocator(`iframe.webview[src*="extensionId=${extension}"]`)
      .frameLocator('#active-frame');
  }

  get input() {
    return this.panel.locator('.composer textarea');
  }

  /**
   * Accepts a row of the open quick input with Enter. It does so only if the input has the focus
   * and contains the query, and the focused row has (or contains) the label. Checking and accepting
   * are one step. If another row is focused, it moves down one row, and the caller must try again.
   */
  takeRow(query, label, { contains = false, detail = '' } = {}) {
    return this.page.evaluate(
      ([query, label, contains, detail]) => {
        const input = document.activeElement;
        if (!input?.matches('.quick-input-widget input.input') || input.value !== query)
          return false;
        const press = (key, keyCode) =>
          input.dispatchEvent(
            new KeyboardEvent('keydown', {
              key,
              code: key,
              keyCode,
              which: keyCode,
              bubbles: true,
              cancelable: true,
              composed: true,
            }),
          );
        const fits = (row) => {
          const text = row.querySelector('.label-name')?.textContent.replace(/\s+/g, ' ').trim();
          return (
            row.textContent.includes(detail) && (contains ? text?.includes(label) : text === label)
          );
        };
        const row = document.querySelector('.quick-input-list .monaco-list-row.focused');
        if (row && fits(row)) return (press('Enter', 13), true);
        if (row) press('ArrowDown', 40);
        return false;
      },
      [query, label, contains, detail],
    );
  }

  /**
   * Opens a quick input with a key, types the query, and accepts the row with exactly this label
   * once the row is focused. The row is accepted at most once.
   */
  async pick(key, query, label, detail) {
    const input = this.page.locator('.quick-input-widget input.input');
    await until(`'${label}' can be chosen`, async () => {
      try {
        await this.page.keyboard.press(key);
        await input.waitFor({ timeout: 5000 });
        await setText(input, query);
        await until('the row', () => this.takeRow(query, label, { detail }), 5000);
        return true;
      } catch {
        await this.page.keyboard.press('Escape');
        return false; // another element has taken the focus, or the list is still being filled
      }
    });
    await this.taken(query);
  }

  /**
   * Waits until the quick input has processed the typed text. The input then closes, or the next
   * question replaces it.
   */
  taken(typed) {
    return until('the quick input has done its work', () =>
      this.page.evaluate((typed) => {
        const input = document.querySelector('.quick-input-widget input.input');
        return !input?.checkVisibility() || input.value !== typed;
      }, typed),
    );
  }

  /** Accepts a row of an open quick pick. */
  async choose(label) {
    await this.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
    await this.page.locator('.quick-input-widget input.input').fill(label);
    await until(`'${label}' is taken`, () => this.takeRow(label, label));
  }

  /**
   * Types a query into an open quick pick, and accepts the first row that contains the text by
   * moving down to it.
   */
  async chooseLike(query, text) {
    const input = this.page.locator('.quick-input-widget input.input');
    await input.fill(query);
    await this.page
      .locator('.quick-input-list .monaco-list-row .label-name', { hasText: text })
      .first()
      .waitFor();
    await until(`a row with '${text}' is taken`, () =>
      this.takeRow(query, text, { contains: true }),
    );
    await this.taken(query);
  }

  /**
   * Clicks an element, and returns whether the click arrived. An element that is redrawn between
   * press and release gets no click, and an element that moves is missed. If a row is given, the
   * pointer first hovers over it, because its buttons are visible only then.
   */
  async clicked(target, row) {
    const timeout = 5000;
    try {
      await row?.hover({ timeout });
      const node = await target.elementHandle({ timeout });
      await node.evaluate((node) =>
        window.addEventListener(
          'click',
          (event) => (node.wasClicked = event.composedPath().includes(node)),
          { capture: true, once: true },
        ),
      );
      // On a busy machine, the click may arrive and remove its element before this call returns.
      const returned = await node.click({ timeout }).then(
        () => true,
        () => false,
      );
      // The click may have closed the element's page.
      return await node.evaluate((node) => node.wasClicked === true).catch(() => returned);
    } catch {
      return false;
    }
  }

  /** Clicks an element until one click arrives. */
  async click(target, row) {
    await target.first().waitFor();
    await until('the click arrives', () => this.clicked(target.first(), row));
  }

  /**
   * Clicks an element until the click has had its effect. After a click that arrived, it waits
   * longer before it clicks again.
   */
  async clickUntil(target, done, row = undefined) {
    const holds = async () => {
      try {
        return await done();
      } catch {
        return false;
      }
    };
    await until('the click has its effect', async () => {
      if (await holds()) return true;
      const limit = (await this.clicked(target.first(), row)) ? 30_000 : 1000;
      return until('the effect', holds, limit).catch(() => false);
    });
  }

  /**
   * Records the text of every element that matches the selector from now on, even if the panel
   * shows it only briefly. Returns a function that waits until a text has been recorded. The
   * function's `most` returns the maximum number of matching elements that were shown at the same
   * time.
   */
  async witness(selector) {
    const body = this.panel.locator('body');
    await body.evaluate((body, selector) => {
      const seen = (body.seen = []);
      body.most = 0;
      new MutationObserver(() => {
        const now = [...document.querySelectorAll(selector)].map((node) => node.textContent);
        body.most = Math.max(body.most, now.length);
        seen.push(...now);
      }).observe(body, { childList: true, subtree: true, characterData: true });
    }, selector);
    const shown = (text) =>
      until(`'${text}' is or was shown`, () =>
        body.evaluate((body, text) => body.seen.some((seen) => seen.includes(text)), text),
      );
    return Object.assign(shown, { most: () => body.evaluate((body) => body.most) });
  }

  /** Answers an input box. It first waits until the previous list is closed and the box is open. */
  async answer(text) {
    const input = this.page.locator('.quick-input-widget input.input');
    await until('an input box is open', () =>
      this.page.evaluate(() => {
        const list = document.querySelector('.quick-input-widget .quick-input-list');
        return (
          document.activeElement?.matches('.quick-input-widget input.input') &&
          !list?.checkVisibility()
        );
      }),
    );
    await input.fill(text);
    await input.press('Enter');
    await this.taken(text);
  }

  /** Enters a file name in the editor's own file dialog. */
  async answerPath(file) {
    const input = this.page.locator('.quick-input-widget input.input');
    const row = this.page
      .locator('.quick-input-list .monaco-list-row', { hasText: path.basename(file) })
      .first();
    await until('the file is taken', async () => {
      if (!(await input.isVisible())) return true;
      // The dialog may have replaced the text with its own folder.
      if ((await input.inputValue()) !== file) await input.fill(file);
      await row.waitFor({ timeout: 5000 });
      await input.press('Enter', { timeout: 5000 });
      return false;
    });
  }

  /** Runs a palette command by its title. */
  async run(title) {
    await this.pick('F1', `>${title}`, title);
    driven.add(title);
  }

  agent(title) {
    return this.run(`agent-lsp: ${title}`);
  }

  /** Shows the panel and focuses it. */
  async showPanel() {
    await this.agent('Ask the Agent');
    await this.inputFocused();
  }

  inputFocused() {
    return until('the panel has the focus', () =>
      this.input
        .evaluate((input) => input === document.activeElement && document.hasFocus(), undefined, {
          timeout: 5000,
        })
        .catch(() => false),
    );
  }

  /** Returns the path of a file in the running step's folder. */
  at(name) {
    return path.posix.join(this.step, name);
  }

  /** Opens a file and waits until its editor has the focus. */
  async openFile(name) {
    const base = path.basename(name);
    await this.command('openFile', path.join(this.workspace, this.at(name)));
    await this.page.locator(`.tab.active[data-resource-name="${base}"]`).waitFor();
    await this.editorFocused();
  }

  editorFocused() {
    return until('the editor has the focus', () =>
      this.page.evaluate(
        () => document.activeElement?.closest('.editor-instance') !== null && document.hasFocus(),
      ),
    );
  }

  /** Returns the focus to the active editor, as Ctrl+1 does for a user. */
  async focusEditor() {
    await until('the editor has the focus', async () => {
      await this.page.keyboard.press('Control+1');
      return this.page.evaluate(() => document.activeElement?.closest('.editor-instance') != null);
    });
  }

  /**
   * Resets the workbench for an independent step. There are no editors and no notifications, and
   * the step has a new folder.
   */
  async begin(name) {
    this.step = process.env.FOLDER ?? name.replace(/[^a-z]+/g, '-');
    if (this.elsewhere) await this.open();
    await this.command('closeEditors');
    await this.command('notifications.clearAll');
    await this.page.locator('.editor-group-container .tab').first().waitFor({ state: 'detached' });
  }

  /** Sets the model's replies for a new daemon, and starts a session. */
  async play(...replies) {
    fs.writeFileSync(this.script, replies.map((reply) => JSON.stringify(reply) + '\n').join(''));
    await this.restartDaemon();
    await this.newSession();
  }

  async restartDaemon() {
    await this.daemonReplacedBy(() => this.command('agentLsp.restartServer'));
  }

  /**
   * Performs an action that makes the extension start another daemon, and waits for that daemon.
   */
  async daemonReplacedBy(act) {
    const old = this.daemons();
    await act();
    this.daemon = await until('another daemon runs', () =>
      this.daemons().find((pid) => !old.includes(pid)),
    );
  }

  /** Returns the id of the session that the panel shows. It is empty if no daemon is running. */
  async session() {
    if ((await this.panel.locator('body').count()) === 0) return '';
    return this.panel
      .locator('body')
      .evaluate(
        (body) => (body.dataset.daemon === 'running' ? body.dataset.session : ''),
        undefined,
        { timeout: 5000 },
      )
      .catch(() => '');
  }

  async newSession() {
    const before = await this.session();
    await this.command('agentLsp.newSession');
    await until(
      'a new session is shown',
      async () => ((await this.session()) || before) !== before,
    );
    await this.panel.locator('.welcome').waitFor();
    await this.inputFocused();
  }

  async prompt(text, key = 'Enter') {
    await this.input.fill(text);
    await this.input.press(key);
  }

  entry(type, text) {
    return this.panel.locator(`.entry.${type}`, text === undefined ? {} : { hasText: text });
  }

  idle() {
    return this.panel.locator('header .state.idle').waitFor({ state: 'attached' });
  }

  read(name) {
    return fs.readFileSync(path.join(this.workspace, this.at(name)), 'utf8');
  }

  write(name, text) {
    const file = path.join(this.workspace, this.at(name));
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }

  /**
   * Waits until a command returns results from the editor's language servers. The servers start
   * with the first file in their language.
   */
  answering(command, ...args) {
    return until(
      `${command} is answered`,
      async () => (await this.command('count', command, ...args)) > 0,
    );
  }

  /** Returns the text of the active editor's visible lines. */
  async buffer(selector = '.editor-instance') {
    const text = await this.page
      .locator(`${selector} .view-lines:not(.line-delete)`)
      .first()
      .evaluate((lines) =>
        [...lines.children]
          .sort((a, b) => a.offsetTop - b.offsetTop)
          .map((line) => line.textContent.replaceAll('\u00a0', ' '))
          .join('\n'),
      );
    return text;
  }

  bufferHas(text, has = true) {
    return until(
      `the buffer ${has ? 'has' : 'has not'} ${text}`,
      async () => (await this.buffer()).includes(text) === has,
    );
  }

  /** Changes a user setting in this window (null removes it). */
  configure(key, value) {
    return this.command('configure', key, value);
  }

  /** Changes a user setting for the next window, because this workbench does not watch files. */
  setting(key, value) {
    const file = path.join(this.dir, 'User', 'settings.json');
    fs.writeFileSync(
      file,
      JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), [key]: value }),
    );
  }

  /** Moves the cursor in the active editor to the start of a line. */
  async goto(line) {
    await until(`the cursor is in line ${line}`, async () => {
      await this.page.keyboard.press('Control+g');
      const input = this.page.locator('.quick-input-widget input.input');
      try {
        await input.fill(`:${line}`, { timeout: 5000 });
        await input.press('Enter', { timeout: 5000 });
        await this.page
          .locator('.statusbar-item', { hasText: `Ln ${line}, Col 1` })
          .waitFor({ timeout: 5000 });
        return true;
      } catch {
        return false;
      }
    });
    await this.editorFocused();
  }

  /** Selects a line of the active editor. */
  async select(line) {
    await this.goto(line);
    await this.page.keyboard.press('Shift+End');
    await this.page.locator('.statusbar-item', { hasText: 'selected' }).waitFor();
  }

  /** Presses a key until the text of the panel's focused element begins with the given text. */
  async focusByKey(key, text) {
    const focused = () =>
      this.panel.locator('body').evaluate(() => document.activeElement?.textContent ?? '');
    await until(
      `'${text}' has the focus`,
      async () => (await focused()).startsWith(text) || void (await this.page.keyboard.press(key)),
    );
  }

  /** Hides the panel. */
  async hidePanel() {
    await this.showPanel();
    await this.run('View: Toggle Secondary Side Bar Visibility');
    await this.input.waitFor({ state: 'hidden' });
  }

  /** Types into the active editor at the start of a line. */
  async typeAt(line, text) {
    await this.goto(line);
    await this.page.keyboard.type(text);
  }

  /** Reverts the active file to the content on disk. */
  async revert() {
    await this.run('File: Revert File');
  }

  /** Returns the process IDs of this workbench's daemons. */
  daemons() {
    return fs
      .readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .map(Number)
      .filter((pid) => {
        try {
          const [program, verb] = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
          return (
            path.basename(program) === 'agent-lsp' &&
            verb === 'serve' &&
            fs.readlinkSync(`/proc/${pid}/cwd`).startsWith(this.dir)
          );
        } catch {
          return false;
        }
      });
  }

  /** Takes a picture of the window or of one of its elements. */
  async shot(name, part = this.page) {
    if (!this.shots) return;
    await this.page.mouse.move(500, 784); // no element is under the pointer at this position
    await part.screenshot({ path: path.join(this.shots, `${name}.png`) });
  }
}
