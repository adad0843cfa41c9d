// Replaces @vscode/spdlog, a native module that is not installed in the workbench (see setup.sh).
// The replacement writes the text of output channels and logs to their files immediately, without
// rotation.
// biome-ignore lint/suspicious/noRedundantUseStrict: this is a CommonJS module
'use strict';
const fs = require('node:fs');
const path = require('node:path');

class Logger {
  constructor(file) {
    this.file = file;
    this.isBare = false;
  }

  clearFormatters() {
    this.isBare = true;
  }

  write(level, text) {
    fs.mkdirSync(path.dirname(this.file), { recursive: true });
    fs.appendFileSync(
      this.file,
      this.isBare ? text : `${new Date().toISOString()} [${level}] ${text}\n`,
    );
  }

  setPattern() {}
  setLevel() {}
  getLevel() {
    return 0;
  }
  flush() {}
  drop() {}
}

for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'critical'])
  Logger.prototype[level] = function (text) {
    this.write(level, text);
  };

const create = async (_name, file) => new Logger(file);

exports.version = 0;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.shutdown = () => {};
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
