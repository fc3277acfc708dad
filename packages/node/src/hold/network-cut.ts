import type { Server } from "node:net";
import { type Acknowledging, acknowledgingIn, socketTable } from "../proc.ts";

/** What is sent again once may be lost by chance, and comes through then. */
const leastResent = 2;
/** TCP sends again after this time at the earliest, then after twice that, and so on. */
const firstResendMs = 200;
/** Between two looks at one moment: at the kernel's table, and at the last arrival. */
const slackMs = 250;

/**
 * Whether the silence may be that of a network which a node took away. Every connection that has answers to send then sends them again and again.
 * Nothing has arrived since before that. Where a single one of several connections does so, its peer may have vanished by itself: that is no cut.
 * @param silent milliseconds since the last arrival; undefined where nothing arrived.
 * @returns words for the cut; undefined where there is none.
 */
export function cutText({ open, pending, resent }: Acknowledging, silent = Infinity): string | undefined {
  const vain = resent.filter(({ times }) => times >= leastResent);
  if (vain.length === 0 || vain.length < pending || (vain.length === 1 && open > 1)) return undefined;
  // Where requests still come in, and nothing goes out, the last one's own answer is among them.
  const since = Math.min(...vain.map(({ times, next }) => firstResendMs * (2 ** (times + 1) - 1) - next));
  if (silent + slackMs < since) return undefined;
  return `the network was cut: ${vain.length} of ${open} connections acknowledge nothing`;
}

/** What Linux tells of the connections of these servers; nothing elsewhere. */
export function acknowledgingOf(servers: readonly Server[]): Acknowledging {
  const addresses = servers.map((server) => server.address());
  const ports = new Set(addresses.flatMap((at) => (typeof at === "object" && at !== null ? at.port : [])));
  return acknowledgingIn(ports.size === 0 ? "" : socketTable("tcp") + socketTable("tcp6"), ports);
}
