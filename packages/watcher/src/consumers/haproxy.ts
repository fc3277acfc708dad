import { canonicalAddress } from "@lameduck/protocol";
import { haproxy as facts } from "@lameduck/senders";
import { askSocket, endpointOf, type Endpoint } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

const place = "show servers state";

/**
 * srv_admin_state: maintenance that is forced, inherited, or due to a missing address. 0x04 only says that the configuration file began with
 * maintenance; it stays set when the server is ready.
 */
const maintenance = 0x01 | 0x02 | 0x20;
/** srv_op_state. */
const stopped = "0";

/** HAProxy, by its runtime API. A draining server counts as used: it still gets connections of clients that are bound to it. */
export function haproxy(endpoint: Endpoint): Consumer {
  return stateConsumer(facts, async (signal) =>
    serversInUse(await askSocket(endpoint, `${place}\n`, signal)),
  );
}

/** The addresses of servers that are not in maintenance. @throws {OperatorError} where the answer is not as HAProxy gives it, or cut off. */
export function serversInUse(text: string): ReadonlySet<string> {
  const [version, heading = "", ...rows] = text.split("\n");
  if (version?.trim() !== "1" || !heading.startsWith("# "))
    throw unreadable(place, "is not answered in version 1");
  // An empty line ends the answer.
  if (!text.endsWith("\n\n")) throw unreadable(place, "the answer is cut off");
  const columns = heading.slice(2).trim().split(" ");
  const [address, admin, operation] = ["srv_addr", "srv_admin_state", "srv_op_state"].map((name) => {
    const index = columns.indexOf(name);
    if (index < 0) throw unreadable(place, `${name} is missing`);
    return index;
  }) as [number, number, number];
  const used = new Set<string>();
  for (const row of rows) {
    if (row === "") continue;
    const cells = row.split(" ");
    const bits = cells[admin] ?? "";
    if (cells.length < columns.length || !/^\d+$/.test(bits))
      throw unreadable(place, `a row is cut off: ${row.slice(0, 200)}`);
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
