/**
 * Records what vegeta and k6 write about a server that answers, refuses, resets, cuts, stalls and is unavailable, on loopback: the golden
 * inputs of test/requests-file-tools.test.ts. Usage: node scripts/record-requests-files.ts VEGETA K6 (paths of the two programs).
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const [vegeta, k6] = process.argv.slice(2);
if (vegeta === undefined || k6 === undefined) throw new Error("usage: record-requests-files.ts VEGETA K6");

const run = promisify(execFile);
const fixtures = join(import.meta.dirname, "..", "test", "fixtures", "requests-file");

/** What each path does to its request. */
const behaviours: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {
  "/ok": (response) => response.setHeader("x-lameduck-pod", "web-1").end("ok\n"),
  "/proxied": (response) => response.setHeader("x-lameduck-upstream", "198.18.1.7:8080").end("ok\n"),
  "/missing": (response) => response.writeHead(404).end("none\n"),
  "/unavailable": (response) => response.writeHead(503, { "x-lameduck-pod": "web-2" }).end("no endpoint\n"),
  "/reset": (_, { socket }) => socket.resetAndDestroy(),
  "/close": (_, { socket }) => socket.destroy(),
  "/cut": (response, { socket }) => {
    response.writeHead(200, { "content-length": "1000", "x-lameduck-pod": "web-3" });
    response.write("beginning", () => setTimeout(() => socket.resetAndDestroy(), 50));
  },
  "/short": (response, { socket }) => {
    response.writeHead(200, { "content-length": "1000", "x-lameduck-pod": "web-3" });
    response.write("beginning", () => setTimeout(() => socket.end(), 50));
  },
  "/stalled": () => undefined,
};

const server = createServer((request, response) => behaviours[request.url ?? ""]?.(response, request));
await new Promise<void>((resolve) => {
  server.listen(0, "127.0.0.1", resolve);
});
const { port } = server.address() as AddressInfo;
const closed = await closedPort();
const folder = await mkdtemp(join(tmpdir(), "lameduck-recording-"));
try {
  const urls = [
    `http://127.0.0.1:${closed}/refused`,
    ...Object.keys(behaviours).map((path) => `http://127.0.0.1:${port}${path}`),
  ];
  await recordVegeta(vegeta, urls);
  await recordK6(k6, urls);
} finally {
  await rm(folder, { recursive: true });
  server.closeAllConnections();
  server.close();
}

/** Two rounds over all URLs, so that connections are used again. */
async function recordVegeta(program: string, urls: readonly string[]): Promise<void> {
  const targets = join(folder, "targets");
  const binary = join(folder, "results.bin");
  await writeFile(targets, urls.map((url) => `GET ${url}\n`).join(""));
  const seconds = (urls.length * 2) / 20;
  await run(program, [
    "attack",
    `-targets=${targets}`,
    "-rate=20",
    `-duration=${seconds}s`,
    "-timeout=400ms",
    `-output=${binary}`,
    "-name=golden",
  ]);
  await run(program, ["encode", "-to=json", `-output=${join(fixtures, "vegeta.jsonl")}`, binary]);
  const first = await run(program, ["attack", `-targets=${targets}`, "-rate=20", "-duration=100ms"], {
    encoding: "buffer",
  });
  await writeFile(join(fixtures, "vegeta.bin"), first.stdout);
}

async function recordK6(program: string, urls: readonly string[]): Promise<void> {
  const script = join(folder, "script.js");
  await writeFile(
    script,
    `import http from "k6/http";
import exec from "k6/execution";
const urls = ${JSON.stringify(urls)};
export const options = {
  scenarios: {
    open: { executor: "constant-arrival-rate", rate: 20, timeUnit: "1s", duration: "${(urls.length * 2) / 20}s", preAllocatedVUs: 1, maxVUs: 2 },
  },
};
export default function () {
  const url = urls[exec.scenario.iterationInTest % urls.length];
  http.get(url, { timeout: "400ms", tags: { pod: url.endsWith("/ok") ? "web-1" : "" } });
}
`,
  );
  const out = `--out=json=${join(fixtures, "k6.jsonl")}`;
  await run(program, ["run", "--quiet", "--no-usage-report", "--log-output=none", out, script]);
}

async function closedPort(): Promise<number> {
  const once = createTcpServer();
  await new Promise<void>((resolve) => {
    once.listen(0, "127.0.0.1", resolve);
  });
  const address = once.address() as AddressInfo;
  await new Promise<void>((resolve) => {
    once.close(() => resolve());
  });
  return address.port;
}
