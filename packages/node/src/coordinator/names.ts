import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";

/** Time in milliseconds for one name server to answer, and how often each one is asked. */
const queryOptions = { timeout: 1_000, tries: 2 };
/** Answers after which the C library, too, asks for the name with the next suffix. */
const isNotThere: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA", "ESERVFAIL"]);

interface NameFiles {
  readonly hosts: string;
  readonly resolver: string;
}

const ofSystem: NameFiles = { hosts: "/etc/hosts", resolver: "/etc/resolv.conf" };

/**
 * Finds names as the C library does, but without it: `dns.lookup` cannot be cancelled, and an exit of the process waits for it. Where name servers
 * do not answer, that takes 20 s by the library's defaults.
 * @param ended gives up what is being asked.
 * @param servers "ADDRESS:PORT" in place of the system's.
 */
export function lookupUntil(
  ended: AbortSignal,
  files: NameFiles = ofSystem,
  servers?: readonly string[],
): LookupFunction {
  // Nothing is made before the first question: attaching has no effect.
  let resolver: Resolver | undefined;
  const find = callbackify((host: string) =>
    addressesOf(host, files, (resolver ??= resolverUntil(ended, servers))),
  );
  return (host, { all }, callback) =>
    find(host, (error, found) => {
      if (error) callback(error, []);
      else if (all === true) callback(null, found);
      else callback(null, found[0].address, found[0].family);
    });
}

function resolverUntil(ended: AbortSignal, servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver(queryOptions);
  if (servers) resolver.setServers(servers);
  ended.addEventListener("abort", () => resolver.cancel(), { once: true });
  return resolver;
}

async function addressesOf(
  host: string,
  files: NameFiles,
  resolver: Resolver,
): Promise<[LookupAddress, ...LookupAddress[]]> {
  const [hosts, settings] = await Promise.all([textOf(files.hosts), textOf(files.resolver)]);
  const [known, ...more] = namedIn(hosts, host);
  if (known) return [known, ...more];
  let problem: unknown;
  for (const name of candidates(host, settings))
    for (const family of [4, 6] as const)
      try {
        const found = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name));
        const [first, ...others] = found.map((address) => ({ address, family }));
        if (first) return [first, ...others];
      } catch (error) {
        problem = error;
        const code = (error as NodeJS.ErrnoException).code;
        if (!isNotThere.has(code)) throw error;
        if (code !== "ENODATA") break;
      }
  throw problem ?? new Error(`${host} has no address`);
}

function textOf(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}

function namedIn(hosts: string, host: string): LookupAddress[] {
  return wordsOf(hosts).flatMap(([address = "", ...names]) =>
    names.some((name) => name.toLowerCase() === host.toLowerCase())
      ? [{ address, family: address.includes(":") ? 6 : 4 }]
      : [],
  );
}

/** The names to ask for, in this order: a name of few dots is first sought with each suffix. */
function candidates(host: string, settings: string): string[] {
  if (host.endsWith(".")) return [host];
  const lines = wordsOf(settings);
  const suffixes = lines.findLast(([key]) => key === "search" || key === "domain")?.slice(1) ?? [];
  const dots = lines.flatMap(([key, ...values]) => (key === "options" ? values : []));
  const enough = Number(dots.findLast((value) => value.startsWith("ndots:"))?.slice("ndots:".length) ?? 1);
  const longer = suffixes.map((suffix) => `${host}.${suffix}`);
  return host.split(".").length - 1 >= enough ? [host, ...longer] : [...longer, host];
}

function wordsOf(text: string): string[][] {
  return text.split("\n").map((line) => (line.split(/[#;]/)[0] ?? "").trim().split(/\s+/));
}
