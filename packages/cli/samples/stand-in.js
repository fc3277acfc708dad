/**
 * The server that `lameduck audit --prove` rolls where a program of the manifest is not on this machine. It answers every path, `/slow`
 * as slowly as the longest request takes. Its stop is told by variables:
 *
 *   STAND_IN_PORTS  where it listens: 8080,9090
 *   STAND_IN_TERM   what SIGTERM does: `graceful` closes the listener, finishes what is in flight and exits; `abrupt` exits;
 *                   `none` is left to Lameduck
 *   STAND_IN_DELAY  milliseconds that it goes on serving after SIGTERM
 *   STAND_IN_SLOW   milliseconds that `/slow` takes
 */
import { createServer } from "node:http";

const { STAND_IN_PORTS = "", STAND_IN_TERM, STAND_IN_DELAY = "0", STAND_IN_SLOW = "1000" } = process.env;

let isClosing = false;
/** Requests in flight, by connection. */
const connections = new Map();

const ports = STAND_IN_PORTS.split(",").filter((port) => port !== "");
const servers = ports.map((port) => createServer(handle).on("connection", keep).listen(Number(port)));
// Whoever closes idle connections races with those who use them; that is another rule's.
for (const server of servers) server.keepAliveTimeout = 0;
// Whoever listens nowhere stays all the same, as a sidecar does.
const staying = setInterval(() => undefined, 2 ** 30);

process.once("SIGQUIT", close);
if (STAND_IN_TERM === "graceful") process.once("SIGTERM", () => setTimeout(close, Number(STAND_IN_DELAY)));
if (STAND_IN_TERM === "abrupt") process.once("SIGTERM", () => process.exit(0));

function keep(socket) {
  connections.set(socket, 0);
  socket.once("close", () => connections.delete(socket));
}

function handle(request, response) {
  const { socket } = request;
  connections.set(socket, connections.get(socket) + 1);
  response.once("close", () => {
    if (!connections.has(socket)) return;
    connections.set(socket, connections.get(socket) - 1);
    if (isClosing && connections.get(socket) === 0) socket.end();
  });
  const answer = () => {
    if (isClosing) response.setHeader("connection", "close");
    response.end("hello\n");
  };
  if (request.url === "/slow") setTimeout(answer, Number(STAND_IN_SLOW));
  else answer();
}

/** Refuses new connections, lets go of idle ones, and ends with the last request. */
function close() {
  isClosing = true;
  clearInterval(staying);
  for (const server of servers) server.close();
  for (const [socket, inFlight] of connections) if (inFlight === 0) socket.end();
}
