/**
 * Reconnects of WebSockets in a rolling update, by what the pods do at SIGTERM: 2,000 clients of `ws` on 8 pods, two of which are replaced at a time.
 * A client whose socket ends connects again at once. It chooses among the pods of its endpoint list, which learns of a deletion after up to 3 s. Each
 * says something every five seconds: half of them so long after the last answer, half whatever comes back.
 * Lost are: a message without its answer when its socket ends, a socket without its close frame, a connection refused.
 *
 *     node packages/node/bench/storm.ts [--sockets 2000] [--pods 8] [--spread 40] [contender ...]
 *
 * Contenders are those of libraries.mjs, as far as they are installed, and `spread`: lameduck with LAMEDUCK_SPREAD. Others than lameduck wait for 5 s
 * before they close anything, as a preStop sleep would have them do.
 */
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { inPod, startScript, type Child } from "../test/child.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sockets: { type: "string", default: "2000" },
    pods: { type: "string", default: "8" },
    spread: { type: "string", default: "40" },
  },
});
const [socketCount, podCount, spread] = [values.sockets, values.pods, values.spread].map(Number) as [
  number,
  number,
  number,
];
const contenders = positionals.length > 0 ? positionals : ["server.close", "lameduck", "spread"];
/** Pods that are replaced at a time: 25 %, as a Deployment has it. */
const atOnce = Math.ceil(podCount / 4);
const longestLagMs = 3_000;
const thinkMs = 5_000;
const graceMs = 30_000 + spread * 1_000;
const server = fileURLToPath(new URL("storm-server.ts", import.meta.url));

interface Pod {
  readonly child: Child;
  removedAt: number;
}

interface Counts {
  /** Times at which a client lost its socket. */
  readonly ends: number[];
  refused: number;
  withoutFrame: number;
  unanswered: number;
  answered: number;
}

class Clients {
  readonly #pods: readonly Pod[];
  readonly #counts: Counts;
  readonly #all = new Set<WebSocket>();
  #stopped = false;
  open = 0;

  constructor(pods: readonly Pod[], counts: Counts) {
    this.#pods = pods;
    this.#counts = counts;
  }

  connect(index: number): void {
    if (this.#stopped) return;
    const seen = performance.now() - Math.random() * longestLagMs;
    const known = this.#pods.filter(({ removedAt }) => removedAt > seen);
    const { child } = known[Math.floor(Math.random() * known.length)]!;
    const socket = new WebSocket(`ws://127.0.0.1:${child.port}`, { perMessageDeflate: false });
    this.#all.add(socket);
    let timer: NodeJS.Timeout | undefined;
    let unanswered = 0;
    let opened = false;
    const later = (wait: number): void => void (timer = setTimeout(say, wait));
    const isSteady = index % 2 === 0;
    const say = (): void => {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(`message ${index}`);
      unanswered++;
      if (isSteady) later(thinkMs);
    };
    socket.on("error", () => {});
    socket.on("open", () => {
      opened = true;
      this.open++;
      later(Math.random() * thinkMs);
    });
    socket.on("message", () => {
      unanswered--;
      this.#counts.answered++;
      if (!isSteady) later(thinkMs);
    });
    socket.on("close", (code) => {
      clearTimeout(timer);
      this.#all.delete(socket);
      if (this.#stopped) return;
      if (opened) {
        this.open--;
        this.#counts.ends.push(performance.now());
        this.#counts.unanswered += unanswered;
        if (code === 1006) this.#counts.withoutFrame++;
        this.connect(index);
      } else {
        this.#counts.refused++;
        setTimeout(() => this.connect(index), 50);
      }
    });
  }

  stop(): void {
    this.#stopped = true;
    for (const socket of this.#all) socket.terminate();
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await pause(20);
}

async function startPod(contender: string): Promise<Pod> {
  const isOurs = contender === "lameduck" || contender === "spread";
  const args = isOurs ? ["lameduck"] : [contender, "5000"];
  const env = { ...inPod, LAMEDUCK_GRACE_PERIOD: `${graceMs}ms` };
  const child = await startScript([server, ...args], {
    ...env,
    ...(contender === "spread" && { LAMEDUCK_SPREAD: `${spread}s` }),
  });
  return { child, removedAt: Infinity };
}

async function terminate(pod: Pod): Promise<void> {
  pod.removedAt = performance.now();
  pod.child.kill();
  const timer = setTimeout(() => pod.child.kill("SIGKILL"), graceMs);
  await pod.child.exited;
  clearTimeout(timer);
}

async function roll(contender: string): Promise<Counts & { readonly took: number; readonly most: number }> {
  const counts: Counts = { ends: [], refused: 0, withoutFrame: 0, unanswered: 0, answered: 0 };
  const pods: Pod[] = await Promise.all(Array.from({ length: podCount }, () => startPod(contender)));
  const clients = new Clients(pods, counts);
  try {
    for (let index = 0; index < socketCount; index++) {
      clients.connect(index);
      if (index % 100 === 99) await pause(50);
    }
    await until(() => clients.open === socketCount);
    await pause(thinkMs);
    counts.ends.length = counts.refused = counts.withoutFrame = counts.unanswered = 0;
    const from = performance.now();
    const old = [...pods];
    while (old.length > 0) {
      const batch = old.splice(0, atOnce);
      pods.push(...(await Promise.all(batch.map(() => startPod(contender)))));
      await Promise.all(batch.map(terminate));
    }
    await until(() => clients.open === socketCount);
    const took = (performance.now() - from) / 1_000;
    await pause(thinkMs);
    return { ...counts, took, most: mostInASecond(counts.ends) };
  } finally {
    clients.stop();
    for (const { child } of pods) await child[Symbol.asyncDispose]();
  }
}

/** In any second, not only in whole ones. */
function mostInASecond(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while (sorted[last]! - sorted[first]! > 1_000) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

process.stdout.write(
  `${socketCount} WebSockets on ${podCount} pods, ${atOnce} replaced at a time; spread ${spread} s\n` +
    "contender               reconnects  most in a second  refused  no close frame  not answered  rollout\n",
);
let first: number | undefined;
for (const contender of contenders) {
  const { ends, most, refused, withoutFrame, unanswered, took } = await roll(contender);
  first ??= most;
  const row = [contender.padEnd(22), String(ends.length).padStart(10), String(most).padStart(16)];
  row.push(String(refused).padStart(7), String(withoutFrame).padStart(14), String(unanswered).padStart(12));
  const ratio =
    contender === contenders[0]
      ? ""
      : `, ${contenders[0]} has ${(first / most).toFixed(1)} times as many a second`;
  process.stdout.write(`${row.join("  ")}  ${took.toFixed(0).padStart(5)} s${ratio}\n`);
}
