/** One program through one termination, as it is without Lameduck, with it in code, or with it by `--import`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseEvents, type LameduckEvent } from "../src/events.ts";
import { cleanEnvironment } from "../test/child.ts";
import { clients, type Idiom } from "./idiom.ts";

export const modes = ["without", "code", "import"] as const;
export type Mode = (typeof modes)[number];
export const places = ["pod", "machine"] as const;
export type Place = (typeof places)[number];

export interface Attempt {
  readonly idiom: Idiom;
  readonly mode: Mode;
  readonly place: Place;
  /** The repository whose package is tried. */
  readonly tree: string;
  /** The binary of Node. */
  readonly node: string;
  /** Whether the program registers its handlers before Lameduck is called. */
  readonly handlersFirst: boolean;
  /** How much longer than usual the signal is waited for, in milliseconds. */
  readonly delayMs: number;
}

export interface Outcome {
  /** An exit code, a signal, `killed` at the end of the grace period, or `no start`. */
  readonly exit: string;
  /** From the signal to the exit. */
  readonly afterMs: number;
  /** When the last answer had come, from the signal on. */
  readonly lastAnswerMs: number;
  readonly answers: ReadonlyMap<
    string,
    { readonly isAnswered: boolean; readonly begunAt?: number | undefined }
  >;
  /** Of standard output. */
  readonly lines: readonly string[];
  /** Of standard error, without Lameduck's own. */
  readonly errors: readonly string[];
  readonly events: readonly LameduckEvent[];
  /** A process of the program was still there after its end. */
  readonly leavesProcess: boolean;
}

const folder = import.meta.dirname;
/** What the brief hold needs: senders that are soon seen to be silent. */
const pod = ({ graceMs }: Idiom): Record<string, string> => ({
  KUBERNETES_SERVICE_HOST: "198.18.0.1",
  LAMEDUCK_GRACE_PERIOD: `${graceMs / 1_000}s`,
  LAMEDUCK_CONVERGENCE: "300ms",
});
const longestStartMs = 60_000;
/** Children that end with their parent need a moment. */
const longestGoodbyeMs = 1_500;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

export function builtPackage(tree: string): string {
  return pathToFileURL(join(tree, "packages/node/dist")).href;
}

function environment({ idiom, mode, place, tree, node, handlersFirst }: Attempt): NodeJS.ProcessEnv {
  const path = [dirname(node), join(folder, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const imported = mode === "import" ? { NODE_OPTIONS: `--import ${builtPackage(tree)}/register.js` } : {};
  return cleanEnvironment({
    ...(place === "pod" ? pod(idiom) : {}),
    ...idiom.env,
    ...imported,
    PATH: path,
    IDIOM_NODE: realpathSync(node),
    IDIOM_MODE: mode,
    IDIOM_PACKAGE: builtPackage(tree),
    IDIOM_ORDER: handlersFirst ? "handlers" : "lameduck",
    npm_config_update_notifier: "false",
  });
}

/** Processes of a group that have not ended. Those that nobody has waited for count as ended. Unknown where there is no /proc. */
function living(group: number): number[] {
  return globSync("/proc/[0-9]*/stat").flatMap((path) => {
    try {
      // The name, in brackets, may hold anything.
      const [state, , of] = readFileSync(path, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return Number(of) === group && state !== "Z" ? [Number(path.split("/")[2])] : [];
    } catch {
      return [];
    }
  });
}

function killAll(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It has ended.
  }
}

export async function terminate(attempt: Attempt): Promise<Outcome> {
  const { idiom, node, delayMs } = attempt;
  const words = idiom.command ?? ["node", "fixtures/program.mjs", idiom.group, idiom.name];
  const [command = "", ...args] = words.map((word) => (word === "node" ? node : word));
  // A group of its own: what it leaves behind can be seen, and ended.
  const child = spawn(command, args, {
    cwd: folder,
    env: environment(attempt),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const group = child.pid ?? 0;
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const closed = once(child, "close");
  let ended: { exit: string; at: number } | undefined;
  const exited = once(child, "exit").then((how) => {
    ended ??= { exit: String(how[0] ?? how[1]), at: performance.now() };
  });
  const answers = new Map<string, { isAnswered: boolean; begunAt: number | undefined }>();
  let signalledAt = performance.now();
  let lastAnswerAt = signalledAt;
  const signalled = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();

  const start = /^(?:.*\s)?(?:PORT=(\d+)|READY)$/m;
  const latest = performance.now() + longestStartMs;
  const hasEnded = (): boolean => ended !== undefined;
  while (!start.test(stdout) && !hasEnded() && performance.now() < latest) await sleep(10);
  // What ends by itself has nothing to say before.
  const isStarted = start.test(stdout) || (idiom.client === "none" && idiom.signal === "none");
  const port = Number(start.exec(stdout)?.[1] ?? 0);
  const talk = isStarted
    ? clients[idiom.client]({
        port,
        begun: begun.resolve,
        signalled: signalled.promise,
        note: (what, isAnswered, begunAt) => {
          answers.set(what, { isAnswered, begunAt });
          if (isAnswered) lastAnswerAt = performance.now();
        },
      })
    : Promise.resolve();
  if (isStarted) {
    await Promise.race([begun.promise, exited]);
    await sleep(delayMs);
  }
  signalledAt = performance.now();
  const kill = (signal: NodeJS.Signals): void => {
    if (ended) return;
    if (idiom.toGroup) process.kill(-group, signal);
    else child.kill(signal);
  };
  if (isStarted && idiom.signal !== "none") {
    kill(idiom.signal);
    if (idiom.again !== undefined) setTimeout(kill, idiom.again, idiom.signal);
  }
  signalled.resolve();
  const sigkill = setTimeout(
    () => {
      ended ??= { exit: "killed", at: performance.now() };
      killAll(group);
    },
    isStarted ? (idiom.signal === "none" ? longestStartMs : idiom.graceMs) : 0,
  );
  await exited;
  clearTimeout(sigkill);
  // A parent that has ended may have left its children to finish in the time that is left. Who is there after it is seen before it is killed.
  await Promise.race([
    closed,
    sleep(idiom.signal === "none" ? 1_000 : signalledAt + idiom.graceMs - performance.now()),
  ]);
  for (let waited = 0; living(group).length > 0 && waited < longestGoodbyeMs; waited += 100) await sleep(100);
  const leavesProcess = living(group).length > 0;
  killAll(group);
  await closed;
  await talk;
  const { exit, at } = ended!;
  const texts = (text: string): string[] =>
    text
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.includes('{"lameduck"'));
  return {
    exit: isStarted ? exit : "no start",
    afterMs: Math.round(at - signalledAt),
    lastAnswerMs: Math.round(lastAnswerAt - signalledAt),
    answers,
    lines: texts(stdout).filter((line) => !start.test(line)),
    errors: texts(stderr),
    events: parseEvents(`${stdout}\n${stderr}`.replaceAll(/^.*?(?=\{"lameduck")/gm, "")),
    leavesProcess,
  };
}
