import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import type { Forward } from "../network/forward.ts";
import type { Bind } from "../network/network.ts";

const hosts = "/etc/hosts";

/** Pods ask no name server: the names that they may reach stand in their /etc/hosts. */
export function hostsBind(forwards: readonly Forward[], scratch: string): Bind[] {
  const named = forwards.filter(({ host }) => !isIP(host) && host !== "localhost");
  if (named.length === 0 || !existsSync(hosts)) return [];
  const file = join(scratch, "hosts");
  const lines = named.flatMap(({ host, addresses }) => addresses.map((address) => `${address} ${host}\n`));
  // The first line that names a host counts.
  writeFileSync(file, lines.join("") + readFileSync(hosts, "utf8"));
  return [{ from: file, to: hosts }];
}
