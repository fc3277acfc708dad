/**
 * Sends requests from one address for a while, in open loop, and prints as JSON what came of them: run as a process.
 *
 *     node sender.ts {"from":"198.18.1.1","to":"198.18.0.1:80","every":20,"for":2000,"pooled":false,"delay":0}
 *
 * It prints `ready`; a line `go` on stdin starts it; it prints `sent` once all are begun, and `done {"sent":..,"lost":..}`.
 */
import type { RequestOptions } from "node:http";
import { once } from "node:events";
import { connect } from "node:net";

/** An import of node:http would load `fetch`, too. */
const { Agent, request } = process.getBuiltinModule("node:http");

interface Orders {
  readonly from: string;
  readonly to: string;
  /** ms between two requests. */
  readonly every: number;
  readonly for: number;
  readonly pooled?: boolean;
  /** Lets the server close first, as kubelets do. */
  readonly patient?: boolean;
  /** Closes first, so that the server's side keeps no trace of the connection. */
  readonly hasty?: boolean;
  /** Only connects, says it is done, and stays. */
  readonly idle?: boolean;
  /** ms that the server shall take for each. */
  readonly delay?: number;
}

const orders = JSON.parse(process.argv[2] ?? "{}") as Orders;
const [host = "", port = "80"] = orders.to.split(":");
const options: RequestOptions = {
  host,
  port,
  localAddress: orders.from,
  headers: { "x-delay": String(orders.delay ?? 0) },
  agent: new Agent({ keepAlive: orders.pooled === true, maxSockets: 20 }),
};
let sent = 0;
let lost = 0;
const pending: Promise<void>[] = [];

console.log("ready");
await once(process.stdin.resume(), "data");
const begun = performance.now();
const timer = setInterval(
  () => {
    // Open loop: as many as are due by now, however long the earlier ones take.
    const elapsed = performance.now() - begun;
    const due = Math.min(elapsed, orders.for) / orders.every;
    while (sent < due) {
      sent++;
      pending.push(send());
    }
    if (elapsed >= orders.for) {
      clearInterval(timer);
      console.log("sent");
      void finish();
    }
  },
  Math.min(orders.every, 10),
);

async function send(): Promise<void> {
  if (orders.idle) return connectOnly();
  if (orders.patient || orders.hasty) return sendAlone();
  await new Promise<void>((resolve) => {
    const call = request(options, (response) => response.resume().on("end", resolve));
    call.on("error", () => {
      lost++;
      resolve();
    });
    call.end();
  });
}

function connectOnly(): Promise<void> {
  return new Promise((resolve) => {
    connect({ host, port: Number(port), localAddress: orders.from }, resolve).on("error", () => lost++);
  });
}

function sendAlone(): Promise<void> {
  return new Promise((resolve) => {
    const to = { host, port: Number(port), localAddress: orders.from, allowHalfOpen: true };
    const connection = orders.hasty ? "keep-alive" : "close";
    const socket = connect(to, () =>
      socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: ${connection}\r\n\r\n`),
    );
    socket.on(orders.hasty ? "data" : "end", () => socket.end());
    socket.on("error", () => lost++);
    socket.on("close", () => resolve());
    socket.resume();
  });
}

async function finish(): Promise<void> {
  await Promise.all(pending);
  console.log(`done ${JSON.stringify({ sent, lost })}`);
  if (!orders.idle) process.exit(0);
}
