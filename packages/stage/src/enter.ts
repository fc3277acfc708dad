import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { LameduckError } from "@lameduck/drain/common";
import { removeAll } from "@lameduck/images";
import { StageError } from "./errors.ts";
import { openLoopbackNetwork } from "./network/loopback.ts";
import { openForwards, type Allowed, type OpenForwards } from "./network/forward.ts";
import { openNamespaceNetwork, type Openings } from "./namespaces/namespaces.ts";
import type { Network } from "./network/network.ts";
import { childOf, killIfRunning } from "./runtime/children.ts";
import { run } from "./network/run.ts";
import { findFabric, unshareArguments, type Fabric } from "./namespaces/privileges.ts";

/** What `enterStage` passes to the process that it starts. */
interface Entered extends Openings {
  readonly fabric: Fabric;
  readonly scratch: string;
}

/** How a process learns that `enterStage` has put it where it is. Never passed on to pods. */
const stageVariable = "LAMEDUCK_STAGE";

export type NetworkChoice = "auto" | "namespaces" | "loopback";

interface EnterOptions {
  /** `auto`: namespaces where the machine allows them, else the shared loopback. */
  readonly network?: NetworkChoice;
  /** What pods in namespaces may reach outside of them. */
  readonly allow?: readonly Allowed[];
  /** Paths where what pods write is kept, where they have a root of their own. */
  readonly writable?: readonly string[];
  /** Called with errors outside the namespace meanwhile. Default: they are ignored. */
  readonly say?: (line: string) => void;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Answers what the program asks by `askOutside`: what cannot be done where it is. Errors are thrown there. */
  readonly answer?: (question: unknown) => Promise<unknown>;
  /** Hears what the program says by `tellOutside`. */
  readonly heard?: (told: unknown) => void;
}

const relayed = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/**
 * Runs a program of Node in the place where a stage can be built: a network, mount and process namespace of its own where that is
 * allowed, so that whatever is started there ends with it. Standard streams are shared, signals relayed.
 * @returns the exit code; 128 + number of the signal when one ended it.
 * @throws StageError LAMEDUCK_NO_NAMESPACES when namespaces were asked for and cannot be had, LAMEDUCK_ALLOW_UNKNOWN_HOST
 */
export async function enterStage(
  entryFile: string,
  args: readonly string[],
  options: EnterOptions = {},
): Promise<number> {
  const { network = "auto", allow = [], writable = [], say = () => undefined, answer, heard } = options;
  let open: OpenForwards | undefined;
  let relay: (signal: NodeJS.Signals) => void = () => undefined;
  const early = Promise.withResolvers<NodeJS.Signals>();
  const listener = (signal: NodeJS.Signals): void => {
    early.resolve(signal);
    relay(signal);
  };
  // The stage's session has no terminal of its own to tell it so.
  const resized = (): void => relay("SIGWINCH");
  for (const signal of relayed) process.on(signal, listener);
  process.on("SIGWINCH", resized);
  // Made and removed out here, so that it is gone however the stage ended. A signal would leave it behind if nothing heard it.
  const folder = scratchFolder();
  try {
    const listens = join(folder, "listens");
    const prepare = async (): Promise<[Fabric, readonly string[], OpenForwards]> => {
      const found = await chooseFabric(network);
      const node = [process.execPath, "--import", obedient(listens), entryFile, ...args];
      const command = await killedWithParent(
        found.kind === "none" ? node : ["unshare", ...unshareArguments(found.kind), "--", ...node],
      );
      return [found, command, await openForwards(found.kind === "none" ? [] : allow, folder, say)];
    };
    const preparing = prepare();
    const prepared = await Promise.race([preparing, early.promise]);
    if (typeof prepared === "string") {
      void preparing.then(([, , late]) => late.close()).catch(() => undefined);
      return 128 + constants.signals[prepared];
    }
    const [fabric, [file = "", ...rest]] = prepared;
    open = prepared[2];
    const scratch = join(folder, "stage");
    const entered: Entered = { fabric, scratch, forwards: open.forwards, writable };
    const child = spawn(file, rest, {
      stdio: answer || heard ? ["inherit", "inherit", "inherit", "ipc"] : "inherit",
      serialization: "advanced",
      // A session of its own: a terminal's Ctrl-C reaches this process alone and is relayed once, not delivered twice.
      detached: true,
      env: { ...process.env, ...options.env, [stageVariable]: JSON.stringify(entered) },
    });
    if (answer) answerFor(child, answer);
    if (heard)
      child.on("message", (message: Partial<Told>) => {
        if ("told" in message) heard(message.told);
      });
    let ended: NodeJS.Signals | undefined;
    relay = (signal) => {
      // Nothing in there hears a signal yet, and nothing has been begun.
      if (!existsSync(listens) && child.pid !== undefined) {
        if (signal === "SIGWINCH") return;
        ended = signal;
        killIfRunning(-child.pid, "SIGKILL");
        return;
      }
      // With namespaces the stage's own process is the child of the unshare that was started.
      const stage = fabric.kind === "none" ? child.pid : child.pid && childOf(child.pid);
      killIfRunning(stage, signal);
    };
    return await new Promise<number>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", (code, signal) => {
        const by = ended ?? signal;
        resolve(by ? 128 + constants.signals[by] : (code ?? 128));
      });
    });
  } finally {
    for (const signal of relayed) process.off(signal, listener);
    process.off("SIGWINCH", resized);
    open?.close();
    removeAll(folder);
  }
}

/**
 * A module that is run before the program. The kernel keeps signals without a handler from the first process of a namespace: here they end it
 * as any other.
 * @param listens a file that is there from then on.
 */
function obedient(listens: string): string {
  const text = `
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
for (const signal of ${JSON.stringify(relayed)})
  process.on(signal, () => process.listenerCount(signal) > 1 || process.exit(128 + constants.signals[signal]));
writeFileSync(${JSON.stringify(listens)}, "");`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

interface Asked {
  readonly number: number;
  readonly question: unknown;
}

interface Answered {
  readonly number: number;
  readonly answer?: unknown;
  readonly error?: Readonly<Record<string, unknown>>;
}

function answerFor(child: ChildProcess, answer: (question: unknown) => Promise<unknown>): void {
  const send = (answered: Answered): void => {
    // It may have ended meanwhile.
    if (child.connected) child.send(answered, () => undefined);
  };
  child.on("message", ({ number, question }: Partial<Asked>) => {
    if (number === undefined) return;
    answer(question).then(
      (found) => send({ number, answer: found }),
      (error: unknown) => {
        const { code, place, remedy, message } = error as Partial<LameduckError>;
        send({ number, error: { code, place, remedy, message: message ?? String(error) } });
      },
    );
  });
}

interface Told {
  readonly told: unknown;
}

/** Tells the process that called `enterStage` something. Resolves when it is on its way. */
export function tellOutside(told: unknown): Promise<void> {
  return new Promise((done) => {
    if (process.connected) process.send!({ told } satisfies Told, undefined, undefined, () => done());
    else done();
  });
}

let questions = 0;

/**
 * Asks the process that called `enterStage` for what can be had only out there. An error of it is thrown here, with its code.
 * @returns undefined where nobody is there to answer.
 */
export function askOutside(question: unknown, signal: AbortSignal): Promise<unknown> {
  if (!insideStage() || !process.connected) return Promise.resolve(undefined);
  const number = ++questions;
  process.channel?.ref();
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      process.off("message", heard);
      process.off("disconnect", lost);
      signal.removeEventListener("abort", aborted);
      process.channel?.unref();
    };
    const aborted = (): void => {
      leave();
      reject(signal.reason as Error);
    };
    const heard = (answered: Answered): void => {
      if (answered.number !== number) return;
      leave();
      const { error } = answered;
      if (error) reject(Object.assign(new Error(String(error["message"])), error));
      else resolve(answered.answer);
    };
    const lost = (): void => {
      leave();
      reject(new Error("the process outside of the stage has ended"));
    };
    process.on("message", heard);
    process.on("disconnect", lost);
    signal.addEventListener("abort", aborted);
    process.send!({ number, question } satisfies Asked);
  });
}

/** The command, arranged so that the kernel kills it when this process dies without a chance to say so. */
async function killedWithParent(command: readonly string[]): Promise<readonly string[]> {
  const prefix = ["setpriv", "--pdeathsig", "KILL", "--"];
  const possible =
    process.platform === "linux" && (await run("setpriv", [...prefix.slice(1), "true"])).code === 0;
  return possible ? [...prefix, ...command] : command;
}

/** Whether this process was started by `enterStage`. */
export function insideStage(): boolean {
  return process.env[stageVariable] !== undefined;
}

/**
 * The network of this process. Outside of `enterStage` that is the shared loopback, because nothing of this machine's own
 * network is ever changed.
 */
export async function openNetwork(): Promise<Network> {
  const text = process.env[stageVariable];
  const { fabric, scratch, ...openings }: Entered = text
    ? (JSON.parse(text) as Entered)
    : {
        fabric: { kind: "none", because: "the stage was not entered" },
        scratch: scratchFolder(),
        forwards: [],
        writable: [],
      };
  if (text && fabric.kind === "none") endWithParent();
  // Closing a network takes it away, and one stage may follow another.
  mkdirSync(scratch, { recursive: true });
  return fabric.kind === "none"
    ? openLoopbackNetwork(fabric.because, scratch)
    : openNamespaceNetwork(fabric, scratch, openings);
}

/** Systems without setpriv cannot have the kernel end this process with the one that started it. */
function endWithParent(): void {
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid !== parent) process.exit(128 + constants.signals.SIGHUP);
  };
  setInterval(look, 500).unref();
}

/** Why there are no namespaces for a stage: in one, why it has none; else why it would have none. */
export async function whyNoNamespaces(): Promise<string | undefined> {
  const text = process.env[stageVariable];
  const fabric = text ? (JSON.parse(text) as Entered).fabric : await findFabric();
  return fabric.kind === "none" ? fabric.because : undefined;
}

async function chooseFabric(choice: NetworkChoice): Promise<Fabric> {
  if (choice === "loopback") return { kind: "none", because: "asked for" };
  const fabric = await findFabric();
  if (fabric.kind === "none" && choice === "namespaces")
    throw new StageError("LAMEDUCK_NO_NAMESPACES", "network", fabric.because);
  return fabric;
}

/** A new directory whose name mount options can hold: no comma, colon, quote, backslash or space. */
function scratchFolder(): string {
  const wanted = realpathSync(tmpdir());
  return mkdtempSync(join(/[,:"'\\\s]/.test(wanted) ? "/tmp" : wanted, "lameduck-"));
}
