/**
 * A long time in short: a process of servers of every protocol with us attached beside one without, the same random clients at both, well-behaved
 * ones and others (half-open, slow, aborted, garbage, the wrong ALPN or none). What they see must not differ, and neither
 * memory nor handles may grow. Exits with 1 where they do.
 *
 *     npm run soak -w packages/node                     20 minutes
 *     npm run soak -w packages/node -- --minutes 5 --seed 7
 *
 * The 20 minutes stand for 24 hours: what may leak does so by the connection, and in them come as many as in a day of one a second, if the
 * machine can; the last line says how many came.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { fixture, inPod, startCounted, type Child } from "../test/child.ts";
import { bystanders, conversations } from "../test/conversations.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));
/** Of the whole time, between two looks at what is held. */
const stretches = 20;
/** Clients at a time. */
const crowd = 8;
const perDay = 86_400;
/** What the heap may differ by from stretch to stretch, in bytes: Node's own pools and caches. */
const slack = 1_500_000;

const { minutes, seed } = readArguments();
const random = generator(seed);
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

interface Held {
  heapUsed: number;
  rss: number;
  handles: Record<string, number>;
}

interface Act {
  readonly name: string;
  /** Draws what is random once, so that both processes meet the same. */
  readonly draw: () => (ports: readonly number[]) => Promise<unknown>;
}

const acts: readonly Act[] = [
  {
    name: "conversation",
    draw: () => {
      const { server, name, hold } = pick(conversations);
      return async (ports) => ({ server, name, seen: await hold(ports[bystanders.indexOf(server)]!) });
    },
  },
  { name: "garbage", draw: () => rude(randomBytes(1 + Math.floor(random() * 400)), { last: "end" }) },
  {
    name: "slow",
    draw: () => rude(Buffer.from(request), { last: "end", piece: 1 + Math.floor(random() * 20) }),
  },
  { name: "half-open", draw: () => rude(randomPart(), { last: "wait", after: random() * 3_000 }) },
  { name: "aborted", draw: () => rude(randomPart(), { last: "reset", after: random() * 20 }) },
];

const request = "GET /a?wait=20 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/** Most are conversations. */
const drawn = (): Act => (random() < 0.7 ? acts[0]! : pick(acts.slice(1)));

function randomBytes(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
}

function randomPart(): Buffer {
  return Buffer.from(request.slice(0, Math.floor(random() * (request.length + 1))));
}

/** A client that sends some bytes, and then ends its half, goes away by a reset, or after a while without a word. */
function rude(
  bytes: Buffer,
  {
    last,
    piece = bytes.length,
    after = 0,
  }: { last: "end" | "reset" | "wait"; piece?: number; after?: number },
): (ports: readonly number[]) => Promise<unknown> {
  const index = Math.floor(random() * bystanders.length);
  return async (ports) => {
    const socket = connect({ port: ports[index]!, host: "127.0.0.1", allowHalfOpen: true });
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    // Whether the end is met reading or writing is chance.
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    for (let at = 0; at < bytes.length && !socket.destroyed; at += Math.max(1, piece)) {
      socket.write(bytes.subarray(at, at + piece));
      if (piece < bytes.length) await pause(5);
    }
    await Promise.race([closed, pause(after)]);
    // Of one that goes away in the midst of things, how much it had seen by then is chance.
    if (last !== "end") {
      leave(socket, last);
      await closed;
      return bystanders[index];
    }
    socket.end();
    // A server may wait for the rest of a handshake or a request for a minute.
    await Promise.race([closed, pause(2_000)]);
    const gone = socket.destroyed;
    socket.destroy();
    return { server: bystanders[index], received: gone ? received : "", gone };
  };
}

function leave(socket: Socket, how: "reset" | "wait"): void {
  if (how === "reset") socket.resetAndDestroy();
  else socket.destroy();
}

async function held(child: Child): Promise<Held> {
  child.process.send?.("collect");
  const [message] = (await once(child.process, "message")) as [Held];
  return message;
}

/** What both hold as soon as that is the same, and so idle if asked for; at the latest after a while. */
async function settled(timeout: number, idle?: Held["handles"]): Promise<readonly Held[]> {
  const latest = performance.now() + timeout;
  for (;;) {
    const now = await Promise.all(both.map(held));
    const same = isDeepStrictEqual(now[0]!.handles, now[1]!.handles);
    const isOver = idle === undefined || isDeepStrictEqual(now[0]!.handles, idle);
    if ((same && isOver) || performance.now() > latest) return now;
    await pause(100);
  }
}

function compareHandles([without, attached]: readonly Held[]): void {
  if (!isDeepStrictEqual(without!.handles, attached!.handles))
    problems.push(`handles: ${JSON.stringify(without!.handles)} and ${JSON.stringify(attached!.handles)}`);
}

const env = { ...inPod, LAMEDUCK_GRACE_PERIOD: "30s" };
await using without = await startCounted([fixture("bystander.ts")], env);
await using attached = await startCounted(["--import", register, fixture("bystander.ts")], env);
const both = [without, attached];
const idle = (await held(without)).handles;
const problems: string[] = [];
const heaps: [without: number, attached: number][] = [];
const from = performance.now();
let count = 0;

/**
 * One act at both at once. Clients take turns in a crowd, so that what one does meets what another does. A reset may overtake what
 * was sent before it, so that a difference counts if it is there each of three times.
 */
async function play(): Promise<void> {
  const { name, draw } = drawn();
  const act = draw();
  const differences = new Set<string>();
  for (let attempt = 1; attempt <= 3; attempt++) {
    const seen = await Promise.all(
      both.map((child) => act(child.ports).catch((error: unknown) => `failed: ${String(error)}`)),
    );
    count++;
    if (isDeepStrictEqual(seen[0], seen[1])) return;
    differences.add(JSON.stringify(seen));
  }
  problems.push(`${name}: ${[...differences].join(" and ")}`);
}

for (let stretch = 1; stretch <= stretches; stretch++) {
  const end = from + (minutes * 60_000 * stretch) / stretches;
  const clients = Array.from({ length: crowd }, async () => {
    while (performance.now() < end && problems.length < 10) await play();
  });
  await Promise.all(clients);
  const now = await settled(15_000);
  heaps.push([now[0]!.heapUsed, now[1]!.heapUsed]);
  compareHandles(now);
  const megabytes = heaps.at(-1)!.map((bytes) => (bytes / 1e6).toFixed(2));
  process.stdout.write(`${stretch}/${stretches}: ${count} at each; heap ${megabytes.join(" and ")} MB\n`);
  if (problems.length > 0) break;
}

// Node itself waits up to two minutes for the rest of a handshake.
const after = await settled(150_000, idle);
compareHandles(after);
if (!isDeepStrictEqual(after[1]!.handles, idle))
  problems.push(`handles at the end: ${JSON.stringify(after[1]!.handles)}, before: ${JSON.stringify(idle)}`);
// The first stretches fill what Node loads and pools once.
const growth = [0, 1].map((index) => median(heaps.slice(-5), index) - median(heaps.slice(2, 7), index));
if (growth[1]! > Math.max(0, growth[0]!) + slack)
  problems.push(`the heap grew by ${growth[1]} bytes, without us by ${growth[0]}`);
for (const child of both)
  if (child.process.exitCode !== null || child.stderr !== "") problems.push(`output: ${child.stderr}`);
attached.kill();
const { code } = await attached.exited;
if (code !== 0 || attached.event("closed")?.reason !== "done") problems.push(`the end: ${attached.stderr}`);
for (const problem of problems) process.stdout.write(`${problem}\n`);
const hours = ((count / perDay) * 24).toFixed(1);
process.stdout.write(
  `${count} clients at each in ${minutes} minutes, as many as ${hours} hours of one a second bring; seed ${seed}; ` +
    `heap grew by ${growth.join(" and ")} bytes; ${problems.length} problems\n`,
);
process.exitCode = problems.length > 0 ? 1 : 0;

function median(pairs: readonly (readonly [number, number])[], index: number): number {
  const sorted = pairs.map((pair) => pair[index]!).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Mulberry32: small, and the same everywhere for the same seed. */
function generator(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function readArguments(): { minutes: number; seed: number } {
  const { values } = parseArgs({
    options: { minutes: { type: "string", default: "20" }, seed: { type: "string", default: "1" } },
  });
  const wanted = { minutes: Number(values.minutes), seed: Number(values.seed) };
  if (!(wanted.minutes > 0) || !Number.isInteger(wanted.seed)) {
    process.stderr.write("soak: --minutes is a number above 0, --seed a whole one\n");
    process.exit(2);
  }
  return wanted;
}
