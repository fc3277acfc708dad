import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * To which address the node's kube-proxy sent the connection from a local port: the source of the answers that the kernel expects. The entry outlives a
 * connection that failed. Undefined where the kernel keeps none, or only one that leads to the address that was called.
 */
export async function destinationOf(localPort: number, called: string): Promise<string | undefined> {
  try {
    const which = ["--orig-port-src", String(localPort), "--orig-dst", called];
    const { stdout } = await run("conntrack", ["-L", "-p", "tcp", ...which], { timeout: 5_000 });
    return destinationIn(stdout);
  } catch {
    return undefined;
  }
}

/** As in: tcp 6 118 SYN_SENT src=198.18.0.15 dst=198.19.3.4 sport=40000 dport=80 [UNREPLIED] src=198.18.129.7 dst=198.18.0.15 sport=8080 dport=40000 */
export function destinationIn(listing: string): string | undefined {
  const destinations = listing.split("\n").flatMap((line) => {
    const [called, answering] = [...line.matchAll(/src=([0-9.]+) dst=([0-9.]+)/g)];
    return called === undefined || answering === undefined || called[2] === answering[1]
      ? []
      : [answering[1]];
  });
  return destinations.length === 1 ? destinations[0] : undefined;
}
