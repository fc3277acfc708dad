/**
 * The server that `npm start` rolls: a plain node:http server such as anyone writes. SHUTDOWN chooses what it does at SIGTERM:
 *
 *   exit      ends at once, as any program does without a handler, unless it is PID 1
 *   ignore    nothing at all, as PID 1 does without a handler: serves until SIGKILL
 *   close     server.close(), as framework documentation shows
 *   unready   fail the readiness probe, wait until it has been seen to fail, then server.close()
 *   lameduck  import { lameduck } from "@lameduck/node"; lameduck(server)
 */
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

const shutdown = process.env.SHUTDOWN ?? "exit";
const pod = process.env.HOSTNAME ?? "here";
let ready = true;

const server = createServer((request, response) => {
  response.setHeader("x-pod", pod);
  answer(request.url ?? "/", response).catch((error) => response.destroy(error));
});

async function answer(url, response) {
  switch (url) {
    case "/ready":
      return response.writeHead(ready ? 200 : 503).end();
    case "/slow":
      await delay(300);
      return response.end("slow\n");
    case "/large":
      return stream(response);
    default:
      return response.end("hello\n");
  }
}

/** 256 kB over a second or so, as a download or a report does. */
async function stream(response) {
  response.setHeader("content-length", 16 * 16_384);
  for (let part = 0; part < 16; part++) {
    response.write("x".repeat(16_384));
    await delay(60);
  }
  response.end();
}

const close = () => server.close(() => process.exit(0));

if (shutdown === "exit") process.once("SIGTERM", () => process.exit(0));
if (shutdown === "close") process.once("SIGTERM", close);
if (shutdown === "unready")
  process.once("SIGTERM", () => {
    ready = false;
    // Three failures, one second apart: the probe's threshold.
    setTimeout(close, 4_000);
  });
if (shutdown === "lameduck") {
  const { lameduck } = await import("@lameduck/node");
  lameduck(server);
}

server.listen(Number(process.env.PORT ?? 8080), process.env.HOST);
