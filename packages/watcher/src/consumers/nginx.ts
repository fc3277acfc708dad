import { isIPv6 } from "node:net";
import { canonicalAddress, mentions } from "@lameduck/protocol";
import { nginx as facts } from "@lameduck/senders";
import { unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";
import { FileChanges, hostAmongServers, readConfiguration } from "./nginx-files.ts";
import {
  leavingPatience,
  restOf,
  startOf,
  workersOf,
  type Rest,
  type Worker,
  type Workers,
} from "./nginx-processes.ts";

/** Milliseconds. After so long a master has been told of changed files. */
const patience = 5_000;
/** Milliseconds by which the time of a change may be earlier than the change. */
const clockTick = 100;

/** Since when the files have been as they are: without an address, or in all. Times are milliseconds since 1970. */
interface Former {
  /** When they changed last. */
  readonly since: number;
  /** The master rested at a moment after that. */
  rest?: Rest | undefined;
}

/** An address that no file names. */
interface Absent extends Former {
  /** When the workers started that are all without it. */
  replacedAt?: number;
  isLetGo?: boolean;
}

/** What these workers have read. */
interface Loaded {
  readonly workers: ReadonlySet<string>;
  readonly names: (address: string) => boolean;
}

/**
 * nginx, by its configuration and its workers. It has let go of an address on two conditions. No file names the address. No worker that accepts
 * connections has read a file that named it: all come from a reload that began after the files dropped it, or are known to have read others.
 */
export function nginx(file: string, pidFile: string): Consumer {
  let known = new Map<string, Absent>();
  /** As of the moment at which the files were last seen to change. */
  let rest: Rest | undefined;
  let current: Former = { since: NaN };
  let loaded: Loaded | undefined;
  let reason: string | undefined;
  const changes = new FileChanges(() => (rest = restOf(pidFile)));
  return {
    kind: facts.name,
    basis: "state",
    stillUsed: async (addresses) => {
      const began = Date.now();
      const { text, changedAt, folders } = await readConfiguration(file);
      changes.follow(folders);
      const host = hostAmongServers(text);
      if (host !== undefined)
        throw unreadable(file, `it names the host ${host} among servers, and not its addresses`);
      const restNow = restOf(pidFile);
      const isResting = restNow !== undefined;
      const workers = workersOf(pidFile);
      const names = namesIn(text);
      const restAfter = rest !== undefined && rest.at >= changedAt ? rest : restNow;
      if (changedAt !== current.since) current = { since: changedAt };
      current.rest ??= restAfter;
      // What changes while it is read may be read by half.
      if (changedAt < began - clockTick && areLater(workers, current, isResting))
        loaded = { workers: new Set(workers.accepting.map(({ key }) => key)), names };
      // A reload that is under way may have read other files, and starts workers with them.
      const areKnown = isResting && workers.accepting.every(({ key }) => loaded?.workers.has(key));
      const haveNeverRead = (address: string): boolean => areKnown && loaded?.names(address) === false;
      reason = undefined;
      const next = new Map<string, Absent>();
      const used = addresses.filter((address) => {
        if (names(address)) return true;
        const absent = known.get(address) ?? { since: changedAt };
        absent.rest ??= restAfter;
        next.set(address, absent);
        const isReplaced = haveNeverRead(address) || areLater(workers, absent, isResting);
        const isHeld = isStillHeld(absent, workers, isReplaced);
        if (isHeld) reason ??= reasonOf(absent, workers);
        return isHeld;
      });
      known = next;
      return new Set(used);
    },
    reason: () => reason,
    rest: () => (reason = undefined),
  };
}

/** nginx takes an IPv6 address in brackets only. */
function namesIn(text: string): (address: string) => boolean {
  const inBrackets = new Set(
    Array.from(text.matchAll(/\[([0-9a-fA-F:.]+)\]/g), ([, six = ""]) => canonicalAddress(six)),
  );
  return (address) =>
    isIPv6(address) ? inBrackets.has(canonicalAddress(address) ?? "") : mentions(text, [address]);
}

/** Whether all accepting workers come from a reload that began after the files had changed. */
function areLater({ master, accepting }: Workers, { since, rest }: Former, isResting: boolean): boolean {
  const isProven = rest?.master === master && accepting.every(({ pid }) => !rest.children.has(pid));
  const isLikely = isResting && Date.now() >= since + patience && firstOf(accepting) > since;
  return isProven || isLikely;
}

const firstOf = (workers: readonly Worker[]): number =>
  Math.min(...workers.map(({ startedAt }) => startedAt));

/** Whether a worker may still open a connection to the address. */
function isStillHeld(absent: Absent, { accepting, leaving }: Workers, isReplaced: boolean): boolean {
  if (absent.isLetGo === true) return false;
  if (absent.replacedAt === undefined && !isReplaced) return true;
  absent.replacedAt ??= startOf({ accepting });
  const isOld = ({ pid, startedAt }: Worker): boolean =>
    startedAt <= absent.since || absent.rest?.children.has(pid) === true;
  absent.isLetGo = !leaving.some(isOld) || Date.now() >= absent.replacedAt + leavingPatience;
  return !absent.isLetGo;
}

/** A controller that changes the files reloads soon after. */
function reasonOf({ since }: Absent, { accepting }: Workers): string | undefined {
  if (firstOf(accepting) > since || Date.now() < since + patience) return undefined;
  return `not reloaded since its files changed at ${new Date(since).toISOString().slice(0, 19)}Z`;
}

export const nginxKind: ConsumerKind = {
  facts,
  make: (where) => {
    const [file = "", pidFile = "/run/nginx.pid"] = where.split(",");
    return file.startsWith("/") ? nginx(file, pidFile) : undefined;
  },
};
