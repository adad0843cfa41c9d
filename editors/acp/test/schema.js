// Validates messages against the SDK's own schema. The SDK's zod types are lenient (an invalid
// optional field becomes undefined, an unknown field is dropped), so the parsed message must also
// equal the sent one.
import assert from 'node:assert/strict';
import fs from 'node:fs';

const dir = new URL('../node_modules/@agentclientprotocol/sdk/dist/v1/schema/', import.meta.url);
const zod = await import(new URL('zod.gen.js', dir));

// Each entry maps a method to the schemas of its params and its result.
export const schemas = {
  initialize: ['InitializeRequest', 'InitializeResponse'],
  authenticate: ['AuthenticateRequest', 'AuthenticateResponse'],
  logout: ['LogoutRequest', 'LogoutResponse'],
  'session/new': ['NewSessionRequest', 'NewSessionResponse'],
  'session/load': ['LoadSessionRequest', 'LoadSessionResponse'],
  'session/list': ['ListSessionsRequest', 'ListSessionsResponse'],
  'session/delete': ['DeleteSessionRequest', 'DeleteSessionResponse'],
  'session/resume': ['ResumeSessionRequest', 'ResumeSessionResponse'],
  'session/close': ['CloseSessionRequest', 'CloseSessionResponse'],
  'session/set_mode': ['SetSessionModeRequest', 'SetSessionModeResponse'],
  'session/set_config_option': ['SetSessionConfigOptionRequest', 'SetSessionConfigOptionResponse'],
  'session/prompt': ['PromptRequest', 'PromptResponse'],
  'session/cancel': ['CancelNotification'],
  'session/update': ['SessionNotification'],
  'session/request_permission': ['RequestPermissionRequest', 'RequestPermissionResponse'],
  'fs/read_text_file': ['ReadTextFileRequest', 'ReadTextFileResponse'],
  'fs/write_text_file': ['WriteTextFileRequest', 'WriteTextFileResponse'],
  'terminal/create': ['CreateTerminalRequest', 'CreateTerminalResponse'],
  'terminal/output': ['TerminalOutputRequest', 'TerminalOutputResponse'],
  'terminal/wait_for_exit': ['WaitForTerminalExitRequest', 'WaitForTerminalExitResponse'],
  'terminal/kill': ['KillTerminalRequest', 'KillTerminalResponse'],
  'terminal/release': ['ReleaseTerminalRequest', 'ReleaseTerminalResponse'],
  'elicitation/create': ['CreateElicitationRequest', 'CreateElicitationResponse'],
  '$/cancel_request': ['CancelRequestNotification'],
};

function kept(sent, read, at) {
  if (at.endsWith('._meta')) return;
  if (sent === null || typeof sent !== 'object')
    return assert.deepEqual(read, sent, `${at} was not understood`);
  assert.ok(read !== null && typeof read === 'object', `${at} was not understood`);
  for (const key of Object.keys(sent)) kept(sent[key], read[key], `${at}.${key}`);
}

function check(name, value, at) {
  const schema = zod['z' + name];
  assert.ok(schema, `the SDK has no schema ${name}`);
  const got = schema.safeParse(value ?? {});
  assert.ok(got.success, `${at}: ${JSON.stringify(value)?.slice(0, 2000)}: ${got.error}`);
  kept(value ?? {}, got.data, at);
}

// validator returns a function that checks each message of a connection, in both directions.
export function validator() {
  const open = new Map();
  const seen = new Set();
  // ACP_SEEN names a file that collects the methods that a complete run has used. every.js compares
  // the file with the protocol.
  const note = (method) =>
    process.env.ACP_SEEN &&
    !seen.has(method) &&
    fs.appendFileSync(process.env.ACP_SEEN, method + '\n');
  return {
    seen,
    message(m, from) {
      assert.equal(m.jsonrpc, '2.0');
      if (m.method !== undefined) {
        note(m.method);
        seen.add(m.method);
        if (m.id !== undefined) open.set(`${from} ${m.id}`, m.method);
        const names = schemas[m.method];
        if (names) check(names[0], m.params, `${m.method} params`);
        else if (from === 'agent')
          assert.match(m.method, /^_/, `${m.method} is no method of the protocol`);
        return;
      }
      const key = `${from === 'agent' ? 'client' : 'agent'} ${m.id}`;
      const method = open.get(key);
      open.delete(key);
      if (m.error) {
        assert.equal(typeof m.error.code, 'number');
        assert.equal(typeof m.error.message, 'string');
        return;
      }
      const names = schemas[method];
      if (names) check(names[1], m.result, `${method} result`);
    },
  };
}
