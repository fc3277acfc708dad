import { isIPv6 } from "node:net";
import { canonicalAddress, mentions } from "../rules/addresses.ts";
import type { Consumer } from "./consumer.ts";
import { FileChanges, readConfiguration } from "./nginx-files.ts";
import { restOf, workersOf, type Rest, type Worker, type Workers } from "./nginx-processes.ts";

/**
 * Milliseconds. After so long a master has been told of changed files. A replaced worker has sent by then what it had accepted. If it
 * still runs, it mostly has connections that stay open for hours.
 */
const patience = 5_000;

/** An address that no file names. */
interface Absent {
  /** When the files changed last before it was seen to be absent, milliseconds since 1970. */
  readonly since: number;
  /** The master rested at a moment after that. */
  rest?: Rest | undefined;
  /** When the workers started that are all without it, milliseconds since 1970. */
  replacedAt?: number;
  isLetGo?: boolean;
}

/**
 * nginx, by its configuration and its workers. It has let go of an address on two conditions. No file names the address. All workers that accept
 * connections come from a reload that began after the files dropped it.
 */
export function nginx(file: string, pidFile: string): Consumer {
  let known = new Map<string, Absent>();
  /** As of the moment at which the files were last seen to change. */
  let rest: Rest | undefined;
  const changes = new FileChanges(() => (rest = restOf(pidFile)));
  return {
    kind: "nginx",
    basis: "state",
    stillUsed: async (addresses) => {
      const { text, changedAt, folders } = await readConfiguration(file);
      changes.follow(folders);
      const restNow = restOf(pidFile);
      const workers = workersOf(pidFile);
      // nginx takes an IPv6 address in brackets only.
      const inBrackets = new Set(
        Array.from(text.matchAll(/\[([0-9a-fA-F:.]+)\]/g), ([, six = ""]) => canonicalAddress(six)),
      );
      const next = new Map<string, Absent>();
      const used = addresses.filter((address) => {
        if (isIPv6(address) ? inBrackets.has(canonicalAddress(address) ?? "") : mentions(text, [address]))
          return true;
        const absent = known.get(address) ?? { since: changedAt };
        absent.rest ??= rest !== undefined && rest.at >= changedAt ? rest : restNow;
        next.set(address, absent);
        return isHeld(absent, workers, restNow !== undefined);
      });
      known = next;
      return new Set(used);
    },
  };
}

/** Whether a worker may still open a connection to the address. */
function isHeld(absent: Absent, { master, accepting, leaving }: Workers, isResting: boolean): boolean {
  if (absent.isLetGo === true) return false;
  const { since, rest } = absent;
  const now = Date.now();
  const starts = accepting.map(({ startedAt }) => startedAt);
  const isProven = rest?.master === master && accepting.every(({ pid }) => !rest.children.has(pid));
  const isLikely = isResting && now >= since + patience && Math.min(...starts) > since;
  if (absent.replacedAt === undefined && !isProven && !isLikely) return true;
  absent.replacedAt ??= Math.max(...starts);
  const isOld = ({ pid, startedAt }: Worker): boolean =>
    startedAt <= since || rest?.children.has(pid) === true;
  absent.isLetGo = !leaving.some(isOld) || now >= absent.replacedAt + patience;
  return !absent.isLetGo;
}
