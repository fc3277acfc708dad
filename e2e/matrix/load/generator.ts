/**
 * An open-loop load generator: requests are sent when a Poisson schedule says so, whatever became of those before. It ends when its input ends, and
 * only then writes its records, one RequestRecord a line. A pipe that nobody empties blocks. A blocked generator sends late, and uses connections
 * that were closed meanwhile. Until the end it writes how many records there are, and a Resolution whenever the DNS has told it other addresses. The
 * lines "pause" and "resume" of its input do so. Usage: generator.ts PLAN
 */
import { request, type ClientRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { runClock, type RequestRecord } from "@lameduck/accounting";
import type { AddressKnown, ClientKind, GeneratorPlan, Numbered } from "./plan.ts";
import { ClientAgent } from "./client-agent.ts";
import { Destinations } from "./conntrack.ts";
import { CachingResolver } from "./resolver.ts";
import { writeFileSync } from "node:fs";

preferOwnSession();
const plan = JSON.parse(process.argv[2] ?? "") as GeneratorPlan;
const clock = runClock(BigInt(plan.origin));
const url = new URL(plan.url);
const latestFirst = new ClientAgent(
  { keepAlive: true, maxSockets: Infinity, maxFreeSockets: 256 },
  plan.addresses,
);
const ringSize = 32;
const ring = Array.from(
  { length: ringSize },
  () => new ClientAgent({ keepAlive: true, maxSockets: 1 }, plan.addresses),
);
let turn = 0;
const poolOf = (client: ClientKind): ClientAgent =>
  client === "ring" ? (ring[turn++ % ringSize] ?? latestFirst) : latestFirst;
/** A connection for each request; `agent: false` would make an agent for each as well. */
const fresh = new ClientAgent({ keepAlive: false, maxSockets: Infinity }, plan.addresses);
interface Connection {
  readonly number: number;
  connected: number | undefined;
  /** Who answered on it: whatever is lost on it later is lost there. */
  pod: string | undefined;
  /** Which of the addresses that the DNS gave was taken. */
  chosen: string | undefined;
  /** Ours; known as soon as it is being connected. */
  localPort: number | undefined;
}
const connections = new WeakMap<Socket, Connection>();
const records: (RequestRecord & AddressKnown)[] = [];
const say = (what: object): void => void process.stdout.write(`${JSON.stringify(what)}\n`);
const resolver =
  plan.dnsServer === undefined
    ? undefined
    : new CachingResolver({
        server: plan.dnsServer,
        name: url.hostname,
        now: () => clock.now(),
        tell: (resolution) => say({ resolution }),
      });
let connectionCount = 0;
let id = 0;
let numbered = 0;
const underWay = new Set<Exchange>();
const lookingUp = new Set<Promise<void>>();
const destinations = new Destinations(url.hostname);

/** What a Node error code means in the words of the model. */
function outcomeOf(code: string, connected: boolean, receiving: boolean): RequestRecord["outcome"] {
  if (code === "ECONNREFUSED") return "refused";
  if (["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"].includes(code) && !connected) return "unreachable";
  if (["EADDRNOTAVAIL", "EMFILE", "ENOBUFS", "EAGAIN"].includes(code)) return "not-sent";
  return receiving ? "truncated" : "reset-before-response";
}

class Exchange {
  readonly #intended: number;
  readonly #mode: RequestRecord["mode"];
  readonly #client = plan.clients[Math.floor(Math.random() * plan.clients.length)] ?? "lifo";
  readonly #slow = Math.random() < plan.slowShare;
  readonly #number = plan.firstNumber === undefined ? undefined : plan.firstNumber + ++numbered;
  readonly #request: ClientRequest;
  readonly #timer: NodeJS.Timeout;
  #sent: number | undefined;
  #socket: Socket | undefined;
  #response: IncomingMessage | undefined;
  #received = 0;
  #over = false;

  constructor(mode: RequestRecord["mode"], intended: number) {
    this.#intended = intended;
    this.#mode = mode;
    this.#request = request({
      hostname: url.hostname,
      port: url.port,
      path: this.#slow ? "/slow" : "/",
      agent: mode === "pooled" ? poolOf(this.#client) : fresh,
      ...(resolver === undefined ? {} : { lookup: resolver.lookup }),
      headers: {
        ...(mode === "new" ? { connection: "close" } : {}),
        ...(plan.host === undefined ? {} : { host: plan.host }),
        ...(this.#number === undefined ? {} : { "x-lameduck-request": this.#number }),
      },
    });
    this.#timer = setTimeout(() => this.#timeOut(), plan.timeoutMs);
    this.#request
      .on("socket", (socket) => this.#onSocket(socket))
      .on("response", (response) => this.#onResponse(response))
      .on("error", (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message))
      .end();
  }

  #onSocket(socket: Socket): void {
    this.#socket = socket;
    if (!connections.has(socket)) {
      const state: Connection = {
        number: ++connectionCount,
        connected: undefined,
        pod: undefined,
        chosen: undefined,
        localPort: undefined,
      };
      const learnPort = (): void => {
        const address = socket.address();
        if ("port" in address) state.localPort ??= address.port;
      };
      // The port is asked for at once, because a refused connection is closed before the next turn. Where a name is looked up first there is no port
      // yet.
      learnPort();
      setImmediate(learnPort);
      connections.set(socket, state);
      if (resolver !== undefined) socket.once("lookup", (_error, address) => (state.chosen = address));
      socket.once("connect", () => {
        state.connected = clock.now();
        this.#sent = state.connected;
      });
    } else this.#sent = clock.now();
  }

  #onResponse(response: IncomingMessage): void {
    this.#response = response;
    response
      .on("data", (chunk: Buffer) => (this.#received += chunk.length))
      .on("end", () => (response.complete ? this.#answered(response) : this.#fail("aborted")))
      .on("error", (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message));
  }

  #answered({ statusCode = 0 }: IncomingMessage): void {
    this.#end(statusCode >= 500 ? "bad-status" : "ok");
  }

  #timeOut(): void {
    const connected = this.#socket !== undefined && connections.get(this.#socket)?.connected !== undefined;
    this.#end(connected ? "timeout" : "unreachable", "ETIMEDOUT");
    this.#request.destroy();
  }

  #fail(code: string): void {
    const connected = this.#socket !== undefined && connections.get(this.#socket)?.connected !== undefined;
    this.#end(outcomeOf(code, connected, this.#response !== undefined), code);
  }

  #end(outcome: RequestRecord["outcome"], error?: string): void {
    if (this.#over) return;
    this.#over = true;
    underWay.delete(this);
    clearTimeout(this.#timer);
    const headers = this.#response?.headers;
    const connection = this.#socket === undefined ? undefined : connections.get(this.#socket);
    const upstream = headers?.["x-lameduck-upstream"];
    const answered = headers?.["x-lameduck-pod"];
    // Behind a proxy every request on a connection may go elsewhere.
    if (typeof answered === "string" && upstream === undefined && connection !== undefined)
      connection.pod = answered;
    const pod = typeof answered === "string" ? answered : connection?.pod;
    const record: Numbered & AddressKnown = {
      id: id++,
      ...(this.#number === undefined ? {} : { request: this.#number }),
      intended: this.#intended,
      ...(this.#sent === undefined ? {} : { sent: this.#sent }),
      finished: clock.now(),
      mode: this.#mode,
      client: this.#client,
      kind: this.#slow ? "slow" : "quick",
      sender: plan.sender,
      ...(pod === undefined ? {} : { pod, podKnownBy: pod === answered ? "header" : "tuple" }),
      ...(connection === undefined ? {} : { connection: connection.number }),
      reused: this.#request.reusedSocket,
      ...(connection?.connected === undefined ? {} : { connected: connection.connected }),
      outcome,
      ...(this.#response?.statusCode === undefined ? {} : { status: this.#response.statusCode }),
      ...(error === undefined ? {} : { error }),
      received: this.#received,
      ...(typeof upstream === "string" ? { upstream } : {}),
      ...(connection?.chosen === undefined ? {} : { chosen: connection.chosen }),
    };
    const port = connection?.localPort;
    if (outcome === "ok" || pod !== undefined || port === undefined) records.push(record);
    else lookingUp.add(this.#lookUp(record, port));
  }

  /** Lost, and no pod has answered: the kernel knows where it was sent. */
  async #lookUp(record: RequestRecord & AddressKnown, port: number): Promise<void> {
    const address = await destinations.of(port);
    records.push(address === undefined ? record : { ...record, chosen: address });
  }
}

const stop = new AbortController();
let paused = false;
createInterface({ input: process.stdin })
  .on("line", (line) => {
    paused = line === "pause";
    due = clock.now();
  })
  .on("close", () => stop.abort());

const rate = plan.newPerSecond + plan.pooledPerSecond;
const end = clock.now() + plan.maxSeconds * 1_000;
const telling = setInterval(() => say({ sent: records.length }), 1_000);
let due = clock.now();
const isDue = (): boolean => !paused && due <= clock.now();
while (!stop.signal.aborted && due < end) {
  // Those that are due are sent at once, late ones too: the schedule does not wait for anybody.
  while (isDue()) {
    underWay.add(new Exchange(Math.random() * rate < plan.newPerSecond ? "new" : "pooled", due));
    due += (-Math.log(1 - Math.random()) * 1_000) / rate;
  }
  await sleep(paused ? 20 : Math.max(0, Math.min(20, due - clock.now())));
}
while (underWay.size > 0) await sleep(20);
await Promise.all(lookingUp);
clearInterval(telling);
for (let from = 0; from < records.length; from += 1_000)
  process.stdout.write(
    records
      .slice(from, from + 1_000)
      .map((record) => `${JSON.stringify(record)}\n`)
      .join(""),
  );
for (const pool of [latestFirst, ...ring]) pool.destroy();
process.exitCode = 0;

/**
 * Where the kernel groups processes by session (sched_autogroup), a nice value counts within the session only, and a session as much as any daemon of
 * the cluster. The group has a nice value of its own. For the leader of a session and those it has started.
 */
function preferOwnSession(): void {
  try {
    writeFileSync("/proc/self/autogroup", "-20");
  } catch {
    // No such groups here: the nice value of the process counts.
  }
}
