import { unreadable } from "../consumer.ts";
import { canonicalAddress, usedOf } from "@lameduck/protocol";

const place = "/proc/net/ip_vs";

/** As in: "  -> 0AF40105:1F90      Masq    1      0          0", or with "[fd00:0000:...:0001]:1F90". */
const server = /^ {2}-> (?:([0-9A-F]{8})|\[([0-9a-fA-F:]+)\]):[0-9A-F]{4}\s+(\w+)\s+(-?\d+)\s+\d+\s+\d+\s*$/;
/** "TCP  0A600001:01BB rr", or "FWM  00000001 rr", and "  -> RemoteAddress:Port ..." above them. */
const service = /^(?:TCP|UDP|SCTP|FWM) +\S+ +\w/;

/** The lines of virtual servers, without their real servers. */
export function virtualServersIn(text: string): readonly string[] {
  return text.split("\n").filter((line) => service.test(line));
}

/**
 * The addresses that IPVS may send new connections to: real servers whose weight is not 0. kube-proxy gives the weight 0 to those that
 * only finish their connections.
 * @throws {OperatorError} where a line cannot be understood.
 */
export function usedInIpvs(text: string, asked: readonly string[]): Set<string> {
  if (!text.startsWith("IP Virtual Server version") || !text.endsWith("\n"))
    throw unreadable(place, "it is cut off");
  const used = new Set<string>();
  // The first three lines are the version and the headings.
  for (const line of text.split("\n").slice(3)) {
    if (line === "" || service.test(line)) continue;
    const [, four, six, , weight] = server.exec(line) ?? [];
    const address = four === undefined ? canonicalAddress(six ?? "") : dotted(four);
    if (address === undefined)
      throw unreadable(place, `a line that is none of its own: ${line.slice(0, 200)}`);
    if (weight !== "0") used.add(address);
  }
  return usedOf(asked, used);
}

function dotted(hex: string): string {
  return (hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join(".");
}
