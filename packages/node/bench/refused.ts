/**
 * Streams of HTTP/2 that a terminating pod refuses or loses, by the way its clients ask: Node clients 5 ms away, each with a session at a
 * time, that never ask again. From 1.5 s after SIGTERM on new sessions go to another pod; the hold lasts for 4 s.
 * _Unsent_ are requests that Node's client refused itself: it had made but not sent them when GOAWAY came, which would have had them served.
 *
 *     node packages/node/bench/refused.ts [rounds]
 */
import { connect, constants, type ClientHttp2Session } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { fixture, inPod, startScript } from "../test/child.ts";
import { Balancer } from "../test/network.ts";

const rounds = Number(process.argv[2] ?? 5);
const clients = 10;
/** Milliseconds that an answer takes. */
const path = "/?wait=20";

type Counts = Map<string, number>;

/** A client that opens a session when it needs one, and asks once for each request. */
class Client {
  readonly #url: string;
  readonly #counts: Counts;
  #session: ClientHttp2Session | undefined;
  #last = (): number => Infinity;

  constructor(url: string, counts: Counts) {
    this.#url = url;
    this.#counts = counts;
  }

  async ask(): Promise<void> {
    const end = await this.#ask().catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
    this.#counts.set(end, (this.#counts.get(end) ?? 0) + 1);
  }

  close(): void {
    this.#session?.destroy();
  }

  #ask(): Promise<string> {
    if (!this.#session || this.#session.closed || this.#session.destroyed) {
      this.#session = connect(this.#url, { rejectUnauthorized: false }).on("error", () => {});
      this.#last = lastStreamNamed(this.#session);
    }
    const last = this.#last;
    const stream = this.#session.request({ ":path": path }).resume();
    return new Promise((resolve, reject) => {
      let answered = false;
      stream.on("end", () => (answered = true)).on("error", () => {});
      stream.on("close", () => {
        if (answered && stream.rstCode === 0) resolve("answered");
        else if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM)
          resolve(last() >= (stream.id ?? 0) ? "unsent" : "refused");
        else reject(new Error(`reset with ${stream.rstCode}`));
      });
    });
  }
}

/** The last stream that the server has promised to serve. */
function lastStreamNamed(session: ClientHttp2Session): () => number {
  let last = Infinity;
  session.on("goaway", (_code, named) => (last = Math.min(last, named)));
  return () => last;
}

/** How clients ask: one request at a time, or 50 a second whatever becomes of them. */
const habits: Record<string, (client: Client, stop: AbortSignal) => Promise<unknown>> = {
  "one at a time": async (client, stop) => {
    while (!stop.aborted) {
      await client.ask();
      await pause(Math.random() * 10);
    }
  },
  "many at once": async (client, stop) => {
    const all: Promise<void>[] = [];
    while (!stop.aborted) {
      all.push(client.ask());
      await pause(-Math.log(1 - Math.random()) * 20);
    }
    await Promise.all(all);
  },
};

async function round(protocol: string, habit: string, counts: Counts): Promise<void> {
  const env = { ...inPod, PROTOCOL: protocol, LAMEDUCK_POLICY: "fixed", LAMEDUCK_DELAY: "4s" };
  await using leaving = await startScript([fixture("protocols.ts")], { ...env, LAMEDUCK_FLOOR: "400ms" });
  await using staying = await startScript([fixture("protocols.ts")], env);
  const balancer = await new Balancer(leaving.port).listen();
  const stop = new AbortController();
  const scheme = protocol === "h2" ? "https" : "http";
  const all = Array.from(
    { length: clients },
    () => new Client(`${scheme}://127.0.0.1:${balancer.port}`, counts),
  );
  const working = all.map((client) => habits[habit]!(client, stop.signal));
  await pause(1_000);
  counts.clear();
  leaving.kill();
  await pause(1_500);
  balancer.target = staying.port;
  await leaving.exited;
  stop.abort();
  await Promise.all(working);
  for (const client of all) client.close();
  await balancer.close();
}

process.stdout.write("protocol  clients ask      requests  refused  of 10,000   unsent  lost otherwise\n");
for (const protocol of ["h2c", "h2"])
  for (const habit of Object.keys(habits)) {
    const total: Counts = new Map();
    for (let index = 0; index < rounds; index++) {
      const counts: Counts = new Map();
      await round(protocol, habit, counts);
      for (const [end, count] of counts) total.set(end, (total.get(end) ?? 0) + count);
    }
    const all = [...total.values()].reduce((sum, count) => sum + count, 0);
    const refused = total.get("refused") ?? 0;
    const lost = [...total].filter(([end]) => !["answered", "refused", "unsent"].includes(end));
    const row = [protocol.padEnd(8), habit.padEnd(15), String(all).padStart(8), String(refused).padStart(7)];
    row.push(((refused / all) * 10_000).toFixed(1).padStart(9), String(total.get("unsent") ?? 0).padStart(7));
    row.push(JSON.stringify(Object.fromEntries(lost)));
    process.stdout.write(`${row.join("  ")}\n`);
  }
