/**
 * Who holds in this container, or would at a signal: lameduck-init as its first process or as a preStop hook, and this library. One of them is to hold. Each
 * says so in a small file in /dev/shm, which packages/init/src/process/holders.h describes.
 */
import {
  accessSync,
  constants as fileModes,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Environment } from "../options/environment.ts";
import { parentOf, startOf } from "../proc.ts";

const folder = "/dev/shm";
/** A hold that ended so recently was for this signal: the kubelet signals when its hook has ended, and may be slow on a busy node. */
const justMs = 5_000;

/** The hold of another, before this one. */
export interface HeldBefore {
  /** "init" or "wait". */
  readonly program: string;
  /** Milliseconds since it began. */
  readonly spent: number;
  /** It has only just ended: this process does not hold again. */
  readonly isOver: boolean;
}

interface Part {
  readonly signals: readonly NodeJS.Signals[];
  /** Milliseconds. */
  readonly longest: number;
  began: number;
  ended: number;
}

/** One lameduck() call of a process in a pod. */
export class Holder {
  readonly #part: Part;
  readonly #parts: Set<Part>;
  readonly #init: number | undefined;
  readonly #isAnnounced: boolean;

  constructor(signals: readonly NodeJS.Signals[], longest: number, environment: Environment) {
    this.#part = { signals, longest: Math.floor(longest), began: 0, ended: 0 };
    this.#parts = partsOfProcess();
    const init = Number(environment["LAMEDUCK_INIT"] ?? "");
    this.#init = init > 0 ? init : undefined;
    // A signal comes from the parent, or from the kubelet to process 1.
    const isFirst = process.pid === 1 && Boolean(environment["KUBERNETES_SERVICE_HOST"]);
    this.#isAnnounced = signals.length > 0 && (isFirst || process.ppid === this.#init);
  }

  /** Signals are handled from here on: whoever would hold before us may leave it to us. */
  announce(): void {
    if (this.#isAnnounced) this.#write();
  }

  begin(): void {
    this.#part.began = now();
    this.#write();
  }

  end(): void {
    this.#part.ended = now();
    this.#write();
  }

  leave(): void {
    if (!this.#parts.delete(this.#part)) return;
    if (this.#parts.size > 0) return write(this.#parts);
    process.removeListener("exit", remove);
    remove();
  }

  /** Whether `lameduck-init end` was run for this hold. */
  isAsked(): boolean {
    const path = pathOf("end", process.pid);
    try {
      const isOurs = isTrusted(lstatSync(path), process.pid);
      return isOurs && Number(readFileSync(path, "utf8")) === begunOf(this.#parts);
    } catch {
      return false;
    }
  }

  /**
   * The hold of the init or of a preStop hook before this signal. @param grace milliseconds since such a hold began, at most. @param cap length of
   * an init's hold that cannot be read.
   */
  before(grace: number, cap: number): HeldBefore | undefined {
    const time = now();
    const counting = filesOf(folder)
      .flatMap((name) => readHolder(name) ?? [])
      .filter(({ program, above }) => program !== "library" && isAboveUs(above))
      .filter(({ began }) => began > 0 && began <= time)
      .filter(({ began }) => time - began < grace);
    const latest = counting.sort((one, other) => other.began - one.began)[0];
    if (!latest)
      return this.#init === undefined || isWritable(folder)
        ? undefined
        : { program: "init", spent: cap, isOver: true };
    const { program, began, ended } = latest;
    return { program, spent: time - began, isOver: ended > 0 && time - ended < justMs };
  }

  #write(): void {
    if (this.#parts.size === 0) process.once("exit", remove);
    this.#parts.add(this.#part);
    write(this.#parts);
  }
}

/** Shared by all copies of this package in the process, hence a registered symbol with the version of the interface in it. */
function partsOfProcess(): Set<Part> {
  const holder = process as unknown as Record<symbol, Set<Part> | undefined>;
  return (holder[Symbol.for("@lameduck/node:holders:1")] ??= new Set());
}

/** Milliseconds of the clock of the machine that never jumps, as the init counts them. */
function now(): number {
  return Math.floor(Number(process.hrtime.bigint()) / 1e6);
}

/** Containers of a pod share the folder, and each has a mount namespace of its own. */
function pathOf(kind: string, pid: number | string): string {
  return join(folder, `lameduck-${kind}-${key()}-${pid}`);
}

function key(): number {
  try {
    return statSync("/proc/self/ns/mnt").ino;
  } catch {
    return 0;
  }
}

const remove = (): void => {
  for (const kind of ["holder", "end"])
    try {
      rmSync(pathOf(kind, process.pid), { force: true });
    } catch {
      // The file is another user's.
    }
};

/** All parts hold at once: the process holds at the signals that each listens to, as long as the longest. */
function write(all: ReadonlySet<Part>): void {
  const parts = [...all];
  const names =
    parts[0]?.signals.filter((name) => parts.every(({ signals }) => signals.includes(name))) ?? [];
  const signals = names.reduce((sum, name) => sum + 2 ** (constants.signals[name] - 1), 0);
  const ended = parts.every((part) => part.ended > 0) ? Math.max(...parts.map((part) => part.ended)) : 0;
  const longest = Math.max(...parts.map((part) => part.longest));
  const beside = pathOf("new", process.pid);
  try {
    const text = `1 library ${process.pid} ${startOf(process.pid)} ${signals} ${longest} ${begunOf(all)} ${ended}\n`;
    rmSync(beside, { force: true });
    writeFileSync(beside, text, { flag: "wx", mode: 0o644 });
    renameSync(beside, pathOf("holder", process.pid));
  } catch {
    // The others are not told, and hold by themselves.
  }
}

/** When the process began to hold; 0 where it has not. */
function begunOf(parts: ReadonlySet<Part>): number {
  const begun = [...parts].map(({ began }) => began).filter((began) => began > 0);
  return begun.length > 0 ? Math.min(...begun) : 0;
}

function filesOf(path: string): string[] {
  try {
    const prefix = `lameduck-holder-${key()}-`;
    return readdirSync(path).filter((name) => name.startsWith(prefix));
  } catch {
    return [];
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, fileModes.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readHolder(
  name: string,
): { program: string; above: number; began: number; ended: number } | undefined {
  const path = join(folder, name);
  try {
    const file = lstatSync(path);
    if (!file.isFile() || file.size > 200) return undefined;
    const [version, program = "", pid, started, , , began, ended] = readFileSync(path, "utf8")
      .trim()
      .split(" ");
    if (version !== "1" || !isTrusted(file, Number(pid)) || startOf(Number(pid)) !== started)
      return undefined;
    return { program, above: Number(pid), began: Number(began), ended: Number(ended) };
  } catch {
    return undefined;
  }
}

/** Whether a file is of a user that we trust: all containers of a pod may write into the folder. */
function isTrusted(file: Stats, pid: number): boolean {
  const uids = [0, process.geteuid?.(), statSync(`/proc/${pid}`).uid];
  return file.isFile() && uids.includes(file.uid);
}

/** Whether it is this process, its parent, or one further up: the hold was before its signal, too. */
function isAboveUs(pid: number): boolean {
  for (let at = process.pid; at > 0; at = parentOf(at)) if (at === pid) return true;
  return false;
}
