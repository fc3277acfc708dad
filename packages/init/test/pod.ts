/** A pod under lameduck-init and its senders, as the tests of the hold have them. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { initProgram } from "./compiled.ts";
import { type Network, senderAddress } from "./network.ts";
import { commandOf, descendantsOf, Running } from "./running.ts";

export const serverFile = fileURLToPath(new URL("server.ts", import.meta.url));
const senderFile = fileURLToPath(new URL("sender.ts", import.meta.url));
const restricted =
  "setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs";

export interface HoldReport {
  readonly reason: string;
  readonly because?: string;
  readonly hold_ms: number;
  readonly connections: number;
  readonly requests: number;
  readonly bytes: number;
  readonly in_flight: number;
  readonly probes: number;
  readonly last_arrival_ms?: number;
  readonly evidence: readonly string[];
  readonly waited_for?: string;
  readonly explanation: string;
  /** By condition, when it was met, ms after the termination. */
  readonly met_ms: Readonly<Record<string, number>>;
  readonly network?: string;
  readonly unmet: readonly string[];
  readonly cluster?: string;
}

export function reportOf(stderr: string): HoldReport {
  const line = stderr.split("\n").find((each) => each.includes('"event":"hold-ended"'));
  assert.ok(line, `no report of a hold in: ${stderr}`);
  return JSON.parse(line) as HoldReport;
}

/** How long the hold went on after the last arrival, ms, but for what other programs of this machine made it wait. */
export function tailOf(report: HoldReport): number {
  const { hold_ms, last_arrival_ms = 0 } = report;
  return hold_ms - last_arrival_ms - processorWaitOf(report);
}

/** How long a stop that all else allowed waited for a free processor, ms. */
export function processorWaitOf({ met_ms }: HoldReport): number {
  const { processor, gap: _, ...others } = met_ms;
  return processor === undefined ? 0 : processor - Math.max(0, ...Object.values(others));
}

/** The init with a server under it, as the restricted user of a pod and as PID 1 of its own process namespace. */
export function pod(
  network: Network,
  flags: readonly string[],
  ...serverArguments: string[]
): Promise<Running> {
  return podBehind([], network, flags, ...serverArguments);
}

/** The same, with a command put before it that changes what it can see; still as root, in its own mount namespace. */
export async function podBehind(
  before: readonly string[],
  network: Network,
  flags: readonly string[],
  ...serverArguments: string[]
): Promise<Running> {
  const running = programAsPod(before, network, flags, [
    process.execPath,
    serverFile,
    ...(serverArguments.length > 0 ? serverArguments : ["80"]),
  ]);
  await running.line("listening");
  return running;
}

/** Any program in the place of the server. */
export function programAsPod(
  before: readonly string[],
  network: Network,
  flags: readonly string[],
  program: readonly string[],
): Running {
  const isolate = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
  // Port 80 needs a capability unless the namespace says otherwise, as container runtimes do.
  network.inPod("sysctl", "-q", "net.ipv4.ip_unprivileged_port_start=0");
  const [command, ...rest] = network.asPod(
    ...isolate,
    ...before,
    ...restricted.split(" "),
    initProgram(),
    "--log",
    "json",
    ...flags,
    "--",
    ...program,
  );
  return new Running(command, rest);
}

/** unshare passes no signals on: they go to the init, its only child. */
export function terminate(running: Running, signal = "SIGTERM"): void {
  for (const pid of descendantsOf(running.pid)) if (isInit(pid)) process.kill(pid, signal);
}

export function sender(network: Network, index: number, orders: Record<string, unknown>): Running {
  const all = { from: senderAddress(index), to: `${network.pod}:80`, every: 20, for: 1_000, ...orders };
  const [command, ...rest] = network.asSender(process.execPath, senderFile, JSON.stringify(all));
  return new Running(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
}

/** Lets senders begin, all at once: on a busy machine a process may take a second to start. */
export async function go(...senders: readonly Running[]): Promise<void> {
  for (const each of senders) await each.line("ready");
  for (const each of senders) each.process.stdin?.write("go\n");
}

export async function resultOf(running: Running): Promise<{ sent: number; lost: number }> {
  await running.until(() => running.lines.some((line) => line.startsWith("done ")), "the sender is done");
  return JSON.parse(running.lines.at(-1)!.slice(5)) as { sent: number; lost: number };
}

function isInit(pid: number): boolean {
  return commandOf(pid).endsWith("/lameduck-init");
}
