import { canonicalAddress } from "@lameduck/protocol";
import { haproxy as facts } from "@lameduck/senders";
import { askSocket, endpointOf, type Endpoint } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

const showServers = "show servers state";
const showProcesses = "show proc";

/**
 * The master's CLI goes on after an answer, so it is told to end. `;quit` on the same line: a worker reads one line only, and a second could cut its
 * answer.
 */
const only = ";quit";

/**
 * srv_admin_state: maintenance that is forced, inherited, or due to a missing address. 0x04 only says that the configuration file began with
 * maintenance; it stays set when the server is ready.
 */
const maintenance = 0x01 | 0x02 | 0x20;
/** srv_op_state. */
const stopped = "0";

/**
 * HAProxy, by its runtime API, or by the CLI of its master, which asks each worker. After a reload an old worker keeps its connections and its own list
 * of servers, and a controller no longer tells it of any change. A draining server counts as used: it still gets connections of clients that are bound
 * to it.
 */
export function haproxy(endpoint: Endpoint): Consumer {
  const ask = (command: string, signal: AbortSignal): Promise<string> =>
    askSocket(endpoint, `${command}\n`, signal);
  return stateConsumer(facts, async (signal) => {
    const workers = workersIn(await ask(`${showProcesses}${only}`, signal));
    if (workers === undefined) return serversInUse(await ask(showServers, signal));
    const used = new Set<string>();
    for (const { pid, isOld } of workers) {
      const answer = await ask(`@!${pid} ${showServers}${only}`, signal);
      // It has ended since.
      if (isOld && answer.startsWith("Can't find the target PID")) continue;
      for (const one of serversInUse(answer)) used.add(one);
    }
    const later = workersIn(await ask(`${showProcesses}${only}`, signal));
    // A reload has started it since, and nobody has asked it.
    if (!later?.every(({ pid }) => workers.some((one) => one.pid === pid)))
      throw unreadable(showProcesses, "a worker has started meanwhile");
    return used;
  });
}

interface Worker {
  readonly pid: string;
  readonly isOld: boolean;
}

/**
 * The worker processes, by the answer of the master's CLI.
 * @returns undefined where a worker answers, which knows no such command.
 * @throws {OperatorError} where the answer is not as HAProxy gives it, or no worker serves.
 */
export function workersIn(text: string): readonly Worker[] | undefined {
  const isOfWorker = text.startsWith("Unknown command");
  if (!isOfWorker && !text.startsWith("#<PID>"))
    throw unreadable(showProcesses, "is not answered as by HAProxy's master");
  // An empty line ends every answer.
  if (!text.endsWith("\n\n")) throw unreadable(showProcesses, "the answer is cut off");
  if (isOfWorker) return undefined;
  const workers: Worker[] = [];
  let section = "";
  for (const row of text.split("\n").slice(1)) {
    if (row.startsWith("#")) section = row.slice(1).trim();
    else if (section === "workers" || section === "old workers") {
      const [, pid] = /^(\d{1,10})\s+worker\s/.exec(row) ?? [];
      if (pid !== undefined) workers.push({ pid, isOld: section === "old workers" });
      else if (row.trim() !== "") throw unreadable(showProcesses, `a row is no worker: ${row.slice(0, 200)}`);
    }
  }
  if (!workers.some(({ isOld }) => !isOld)) throw unreadable(showProcesses, "no worker serves");
  return workers;
}

/** The addresses of servers that are not in maintenance. @throws {OperatorError} where the answer is not as HAProxy gives it, or cut off. */
export function serversInUse(text: string): ReadonlySet<string> {
  const [version, heading = "", ...rows] = text.split("\n");
  if (version?.trim() !== "1" || !heading.startsWith("# "))
    throw unreadable(showServers, "is not answered in version 1");
  // An empty line ends the answer.
  if (!text.endsWith("\n\n")) throw unreadable(showServers, "the answer is cut off");
  const columns = heading.slice(2).trim().split(" ");
  const [address, admin, operation] = ["srv_addr", "srv_admin_state", "srv_op_state"].map((name) => {
    const index = columns.indexOf(name);
    if (index < 0) throw unreadable(showServers, `${name} is missing`);
    return index;
  }) as [number, number, number];
  const used = new Set<string>();
  for (const row of rows) {
    if (row === "") continue;
    const cells = row.split(" ");
    const bits = cells[admin] ?? "";
    if (cells.length < columns.length || !/^\d+$/.test(bits))
      throw unreadable(showServers, `a row is cut off: ${row.slice(0, 200)}`);
    if ((Number(bits) & maintenance) !== 0 && cells[operation] === stopped) continue;
    // A server on a Unix socket, or without an address yet, is no pod.
    const found = canonicalAddress(cells[address] ?? "");
    if (found !== undefined) used.add(found);
  }
  return used;
}

export const haproxyKind: ConsumerKind = {
  facts,
  make: (where) => {
    const endpoint = endpointOf(where);
    return endpoint && haproxy(endpoint);
  },
};
