/**
 * A coordinator as a pod meets it, or what pretends to be one: run as a process. Prints each request as a line of JSON.
 *
 *     node coordinator-server.ts ADDRESS PORT MODE [AFTER-MS]
 *
 * In the mode `behind` it has released the pod when it is first asked, and answers from then on as another one that is behind; in `again` as one that
 * sees the pod published again. In the modes `signal`, `hiccup` and `doubt` it releases the pod on SIGUSR2. The second and the third question it resets
 * in `hiccup`, and answers by `unknown` in `doubt`.
 * In `end` somebody has asked for the end of the hold.
 * In `incomplete` a sender that nobody asks is assumed to send for AFTER-MS.
 * In `strict-incomplete` it cannot release the pod, and the DrainPolicy says `consistency`.
 * In `falls-silent` it answers once, and takes nothing that it is told; it prints how long it was waited for.
 * In `busy` it releases it as in `release`, and takes only what it is told for the fourth time.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Socket } from "node:net";

const [address = "", port = "", mode = "", after = "0"] = process.argv.slice(2);

/** What a hostile server sends to whoever connects. */
const raw: Record<string, (socket: Socket) => void> = {
  silent: () => {},
  reset: (socket) => void socket.resetAndDestroy(),
  garbage: (socket) =>
    void socket.end(Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * 7919) % 256))),
  endless: (socket) =>
    flood(socket, "HTTP/1.1 200 OK\r\n\r\nlameduck 1\nstate: released\n", "x: y\n".repeat(1_000)),
  drip: (socket) => {
    let sent = 0;
    const timer = setInterval(() => socket.write("HTTP/1.1 200 OK\r\nX: "[sent++] ?? "x"), 1);
    socket.on("close", () => clearInterval(timer));
  },
};

function flood(socket: Socket, first: string, then: string): void {
  const more = (): void => {
    while (socket.writable && socket.write(then));
  };
  socket.write(first);
  socket.on("drain", more);
  more();
}

let withdrawnAt: number | undefined;
let releasedAt = Infinity;
process.on("SIGUSR2", () => (releasedAt = performance.now()));
let asked = 0;
let refused = 0;

function stateNow(): string {
  withdrawnAt ??= performance.now();
  if (mode === "release" || mode === "busy") releasedAt = withdrawnAt + Number(after);
  if (mode === "behind" || mode === "again") return asked > 1 ? "waiting" : "released";
  if (mode === "doubt" && (asked === 2 || asked === 3)) return "unknown";
  if (["release", "signal", "hiccup", "doubt", "busy"].includes(mode))
    return performance.now() >= releasedAt ? "released" : "waiting";
  if (mode === "strict-incomplete") return "incomplete";
  return mode === "end" || mode === "consistency" || mode === "falls-silent" ? "waiting" : mode;
}

function answer(): string {
  const state = stateNow();
  const sinceWithdrawn = performance.now() - (withdrawnAt ?? 0);
  return [
    "lameduck 1.9",
    `state: ${state}`,
    ...(mode === "again" && state === "waiting" ? [] : [`withdrawn-ms: ${Math.round(sinceWithdrawn)}`]),
    ...(state === "released"
      ? [
          `released-ms: ${Math.round(performance.now() - (Number.isFinite(releasedAt) ? releasedAt : withdrawnAt!))}`,
          "consumers: 5/5",
          "last: kube-proxy/node5",
        ]
      : ["consumers: 4/5", "behind: kube-proxy/node5 (rules)"]),
    ...(mode === "incomplete" && after !== "0"
      ? [`assumed-ms: ${Math.max(0, Math.round(Number(after) - sinceWithdrawn))}`]
      : []),
    "basis: rules",
    `mode: ${["consistency", "strict-incomplete"].includes(mode) ? "consistency" : "availability"}`,
    ...(mode === "end" ? ["end: now"] : []),
    "new-key: of another version",
    "",
  ].join("\n");
}

/** As a coordinator does: at once where the state is another than the pod has seen, else when it changes, else after `wait`. */
function ask(url: URL, response: ServerResponse): void {
  const until = performance.now() + Number(url.searchParams.get("wait") ?? 0) * 1_000;
  const look = (): void => {
    if (stateNow() === url.searchParams.get("seen") && performance.now() < until) return;
    clearInterval(timer);
    response.writeHead(200, { "content-type": "text/plain" });
    response.end(answer());
  };
  const timer = setInterval(look, 20);
  response.on("close", () => clearInterval(timer));
  look();
}

async function tell(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  if (mode === "falls-silent") {
    const since = performance.now();
    request.socket.on("close", () =>
      console.log(JSON.stringify({ told: body, waited: performance.now() - since })),
    );
    return;
  }
  if (mode === "busy" && ++refused <= 3) return void response.writeHead(503).end();
  console.log(JSON.stringify({ told: body, path: request.url }));
  response.end("lameduck 1\n");
}

function handle(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://here");
  if (request.method === "POST") return void tell(request, response);
  console.log(JSON.stringify({ asked: ++asked, path: request.url }));
  if (mode === "refused") response.writeHead(403).end("no");
  else if (mode === "version") response.end("lameduck 2\nstate: released\n");
  // Has answered once, and is silent from then on.
  else if ((mode === "consistency" || mode === "falls-silent") && asked > 1) request.resume();
  else if (mode === "hiccup" && (asked === 2 || asked === 3)) request.socket.resetAndDestroy();
  else ask(url, response);
}

const hostile = raw[mode];
const server = hostile
  ? createServer((socket) => {
      socket.on("error", () => {});
      console.log(JSON.stringify({ asked: ++asked }));
      hostile(socket);
    })
  : createHttpServer(handle);
server.listen(Number(port), address, () => console.log("listening"));
