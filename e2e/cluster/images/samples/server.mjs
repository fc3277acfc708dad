/**
 * The server under test: node:http on PORT (8080), answering with the pod's name so that every answer can be joined with its pod.
 * SHUTDOWN chooses what SIGTERM does:
 *   close     stop accepting and let requests finish (server.close), the usual "graceful shutdown"
 *   exit      end at once
 *   ignore    go on serving until SIGKILL
 *   default   no handler at all (Node as PID 1 then ignores the signal as well)
 *   unready   /readyz says 503; once a probe has seen it, close
 *   delay:N   serve N more seconds, then close
 *   lameduck  Lameduck's library, with its options in the environment (LAMEDUCK_POLICY ...)
 *   lameduck-unready  the same, and /readyz fails from SIGTERM on
 * SIGUSR2 makes it look sick: /livez says 503 for the next ten seconds.
 * READY_DELAY_MS is the time before /readyz says yes. SLOW_SHARE of the requests (0) take SLOW_MS (300), as do those to /slow.
 */
import { createServer } from "node:http";
import { hostname } from "node:os";

const pod = hostname();
const shutdown = process.env.SHUTDOWN ?? "close";
const slowShare = Number(process.env.SLOW_SHARE ?? 0);
const slowMs = Number(process.env.SLOW_MS ?? 300);
const readyAt = Date.now() + Number(process.env.READY_DELAY_MS ?? 0);

let unready = false;
let sickUntil = 0;
process.on("SIGUSR2", () => (sickUntil = Date.now() + 10_000));

const server = createServer((request, response) => {
  const answer = (status, body) => {
    response.writeHead(status, {
      "content-type": "text/plain",
      "content-length": Buffer.byteLength(body),
      "x-lameduck-pod": pod,
    });
    response.end(body);
  };
  const path = request.url?.split("?")[0];
  if (path === "/readyz") {
    answer(Date.now() >= readyAt && !unready ? 200 : 503, "");
    if (unready) close();
    return;
  }
  if (path === "/livez") return answer(Date.now() >= sickUntil ? 200 : 503, "");
  if (path === "/slow" || Math.random() < slowShare) return void setTimeout(answer, slowMs, 200, `${pod}\n`);
  return answer(200, `${pod}\n`);
});
// Longer than the idle time of common clients, so that the server is not the one that closes an idle connection.
server.keepAliveTimeout = 75_000;

const close = () => {
  server.close(() => process.exit(0));
  // While it waits for kept-alive connections, nobody sees from outside that it accepts no new ones.
  process.stdout.write('{"event":"listener-closed"}\n');
};
if (shutdown === "close") process.on("SIGTERM", close);
else if (shutdown === "unready") process.on("SIGTERM", () => (unready = true));
else if (shutdown === "exit") process.on("SIGTERM", () => process.exit(0));
else if (shutdown === "ignore") process.on("SIGTERM", () => undefined);
else if (shutdown.startsWith("delay:"))
  process.on("SIGTERM", () => setTimeout(close, 1000 * Number(shutdown.slice("delay:".length))));
else if (shutdown === "lameduck") (await import("@lameduck/node")).lameduck(server);
else if (shutdown === "lameduck-unready")
  (await import("@lameduck/node")).lameduck(server, { lbHealth: { path: "/readyz", wait: "2s" } });

server.listen(Number(process.env.PORT ?? 8080), () => process.stdout.write("listening\n"));
