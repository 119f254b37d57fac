#!/usr/bin/env node
// A fake model server for end-to-end tests with real coding agents.
// Speaks Anthropic Messages and OpenAI Responses; see README.md.
import { appendFileSync, realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as anthropic from './anthropic.mjs';
import * as openai from './openai.mjs';
import { scenarioNames, stepFor } from './scenarios.mjs';
import { resolveTool } from './tools.mjs';

const DIALECTS = [anthropic, openai];
const JSON_ANSWER = JSON.stringify({ title: 'Fake session title', isNewTopic: true });

/** Starts the server; resolves to the http.Server once it listens (port 0 picks one). */
export function startFakeModel({ port = 0, host = '127.0.0.1', onRequest = () => {} } = {}) {
  const server = createServer((req, res) => {
    handle(req, res, onRequest).catch((error) => {
      if (!res.headersSent) res.writeHead(500);
      res.end(String(error));
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}

async function handle(req, res, onRequest) {
  const path = new URL(req.url, 'http://localhost').pathname;
  const body = await readJson(req);
  const dialect = req.method === 'POST' ? DIALECTS.find((d) => d.path === path) : undefined;
  const request = dialect?.read(body);
  onRequest({
    ts: Date.now(), method: req.method, path, model: body?.model, stream: body?.stream,
    scenario: request?.scenario, index: request?.index, tools: request?.tools.map((t) => t.name),
  });
  if (dialect) return answer(dialect, request, body, res);
  if (path === '/v1/messages/count_tokens') return json(res, 200, { input_tokens: 10 });
  if (path === '/v1/models') return json(res, 200, { object: 'list', data: [], models: [] });
  if (req.method === 'HEAD' || path === '/') return json(res, 200, {});
  return json(res, 404, { error: { message: 'not found' } });
}

async function answer(dialect, request, body, res) {
  // A request without tools is a side query (title, summary): it must not consume a step.
  const step = request.tools.length ? stepFor(request.scenario, request.index) : sideStep(request);
  if (step.delayMs) await sleep(step.delayMs);
  if (step.status) return json(res, step.status, dialect.error(step.status));
  const calls = (step.tools ?? []).map((call) => resolveTool(call, request.tools)).filter(Boolean);
  const missing = (step.tools ?? []).length - calls.length;
  const text = missing ? `${step.text} (${missing} tool not offered by this agent)` : step.text;
  if (!body.stream) return json(res, 200, dialect.whole({ text, calls, model: body.model }));

  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const chunks = timed(text, step.streamMs ?? 0);
  let sent = 0;
  for await (const [event, data] of dialect.stream({ chunks, calls, model: body.model })) {
    if (res.destroyed) return;
    if (step.hangup && ++sent > 6) return res.destroy();
    res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }
  res.end();
}

const sideStep = (request) => ({ text: request.wantsJson ? JSON_ANSWER : 'A summary of the conversation so far.' });

async function* timed(text, totalMs) {
  const parts = text.match(/\S+\s*/g) ?? [''];
  for (const part of parts) {
    yield part;
    if (totalMs) await sleep(totalMs / parts.length);
  }
}

async function readJson(req) {
  const parts = [];
  for await (const part of req) parts.push(part);
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    return undefined;
  }
}

function json(res, status, value) {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(value));
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { port: { type: 'string', default: '8787' }, log: { type: 'string' } } });
  const onRequest = (entry) => values.log && appendFileSync(values.log, `${JSON.stringify(entry)}\n`);
  const server = await startFakeModel({ port: Number(values.port), onRequest });
  console.log(`fake model on http://127.0.0.1:${server.address().port} (scenarios: ${scenarioNames().join(', ')})`);
}
