import { unreadable } from "../consumer.ts";
import { addressOf, mentions, usedOf } from "@lameduck/protocol";
import { reachableFrom } from "./chains.ts";

/** The chains where kube-proxy's rules begin. A chain that cannot be reached from them is left over. */
const entrances = ["KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-EXTERNAL-SERVICES"] as const;

/** As in: -A KUBE-SEP-X -p tcp -m comment --comment "a \"b\" c" -m tcp -j DNAT --to-destination 10.0.0.1:80 */
const word = /"(?:[^"\\]|\\.)*"|[^\s"]+/g;

const place = "iptables-save -t nat";

/** Whether kube-proxy has its chains in the table. */
export function isKubeProxyNat(text: string): boolean {
  return /^:KUBE-SERVICES /m.test(text);
}

/** Whether kube-proxy matches ip sets here, as in IPVS mode, where the endpoints are virtual servers. */
export function isForIpvs(text: string): boolean {
  return /^-A KUBE-SERVICES .*--match-set KUBE-/m.test(text);
}

/** Whether it leads to a Service. The API server's Service is always there in the cluster's first address family. */
export function hasServicesInNat(text: string): boolean {
  return isForIpvs(text) || /^:KUBE-SVC-/m.test(text);
}

/**
 * The addresses that kube-proxy may send new connections to, by the answer of `iptables-save -t nat`: those of a DNAT that is reached.
 * @throws {OperatorError} where the answer is cut off, or holds what cannot be understood.
 */
export function usedInNat(text: string, asked: readonly string[]): Set<string> {
  requireWholeNat(text);
  if (!hasServicesInNat(text))
    throw unreadable(place, "it holds no Service, not even that of the API server");
  return mentions(text, asked) ? usedOf(asked, destinationsOf(text)) : new Set();
}

/** Checks that the output is complete: it ends the table with COMMIT. @throws {OperatorError} */
export function requireWholeNat(text: string): void {
  // Rules that another program wrote: "# Table `nat' is incompatible, use 'nft' tool."
  if (/^# Table .* is incompatible/im.test(text.slice(0, 2_000)))
    throw unreadable(place, "rules that this version of iptables does not understand");
  const lines = text.split("\n", 20).filter((line) => line !== "" && !line.startsWith("#"));
  const hasTable = lines[0] === "*nat";
  const isWhole = /\nCOMMIT\n(#[^\n]*\n?)*$/.test(text.slice(-1_000));
  if (lines.length > 0 && !(hasTable && isWhole)) throw unreadable(place, "the list of rules is cut off");
}

function destinationsOf(text: string): ReadonlySet<string> {
  const jumps = new Map<string, string[]>();
  const destinations = new Map<string, string[]>();
  // Line by line: with thousands of Services an array of lines would be most of the memory.
  for (let from = 0, to = 0; to >= 0; from = to + 1) {
    to = text.indexOf("\n", from);
    // Other programs' chains are not followed: a port mapping of the CNI leads to its pod until the pod ends.
    if (!text.startsWith("-A KUBE-", from)) continue;
    const line = text.slice(from, to < 0 ? undefined : to);
    const chain = line.slice(3, line.indexOf(" ", 3));
    const [target, ...rest] = targetOf(line);
    if (target?.startsWith("KUBE-") === true) add(jumps, chain, target);
    else if (target === "DNAT") add(destinations, chain, destination(rest, line));
  }
  return new Set([...reachableFrom(entrances, jumps)].flatMap((chain) => destinations.get(chain) ?? []));
}

/** The target after -j or -g. These come last, because a comment before them may contain the same letters. */
function targetOf(line: string): string[] {
  const jump = line.lastIndexOf(" -j ");
  const at = jump < 0 ? line.lastIndexOf(" -g ") : jump;
  if (at < 0) return [];
  const rest = line.slice(at + 4);
  if (!rest.includes('"')) return rest.split(" ");
  const words = line.match(word) ?? [];
  const flag = words.findIndex((one) => one === "-j" || one === "-g");
  return flag < 0 ? [] : words.slice(flag + 1);
}

function destination(words: readonly string[], line: string): string {
  const index = words.indexOf("--to-destination");
  const address = index < 0 ? undefined : addressOf(words[index + 1] ?? "");
  if (address === undefined)
    throw unreadable(place, `a destination that is no address: ${line.slice(0, 300)}`);
  return address;
}

function add(to: Map<string, string[]>, key: string, value: string): void {
  const list = to.get(key);
  if (list === undefined) to.set(key, [value]);
  else list.push(value);
}
