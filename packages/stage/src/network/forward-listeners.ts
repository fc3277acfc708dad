import { spawn } from "node:child_process";
import { connect, isIP, type Server } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { StageError } from "../errors.ts";
import { passOn, type Forward } from "./forward.ts";
import { ip } from "./ip.ts";

/** One address on which a pod finds what it may reach. */
export interface ForwardListener {
  readonly address: string;
  readonly port: number;
}

/**
 * Listens in a pod's namespace. A socket stays in the namespace where it was made, so a process that enters it makes them, hands them
 * over and ends.
 * @param inside - the command that enters the namespace.
 * @returns how to stop.
 * @throws StageError LAMEDUCK_NETWORK_FAILED
 */
export async function listenForwards(
  forwards: readonly Forward[],
  inside: readonly string[],
): Promise<() => void> {
  const wanted = forwards.flatMap(({ addresses, port, socket }) =>
    addresses.map((address) => ({ address, port, socket })),
  );
  if (wanted.length === 0) return () => undefined;
  const foreign = wanted.map(({ address }) => address).filter((address) => !isLoopback(address));
  if (foreign.length > 0)
    await ip(
      [...new Set(foreign)]
        .map((address) => `addr add ${address}/${isIP(address) === 6 ? 128 : 32} dev lo`)
        .join("\n"),
      inside,
    );
  const servers = await madeInside(wanted, inside);
  for (const [index, server] of servers.entries())
    server.on("connection", (pod) => {
      const stage = connect({ path: wanted[index]!.socket, allowHalfOpen: true });
      // Nobody answered out there: to the program that is a connection that breaks, not one that ends in order.
      stage.on("end", () => stage.bytesRead === 0 && pod.resetAndDestroy());
      stage.on("error", () => pod.resetAndDestroy());
      passOn(pod, stage);
    });
  return () => {
    for (const server of servers) server.close();
  };
}

async function madeInside(wanted: readonly ForwardListener[], inside: readonly string[]): Promise<Server[]> {
  const program = fileURLToPath(new URL(`./forward-child${extname(import.meta.url)}`, import.meta.url));
  const [file, ...rest] = [...inside, process.execPath, program];
  // A test runner's variable would make the child report to it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(file, rest, { stdio: ["ignore", "ignore", "pipe", "ipc"], env });
  let complaints = "";
  child.stderr!.on("data", (bytes: Buffer) => (complaints += bytes));
  const servers: Server[] = [];
  child.on("message", (_made, handle) => {
    const server = handle as Server;
    // The half that the program closes may be the half that the other end waits for.
    Object.assign(server, { allowHalfOpen: true });
    servers.push(server);
  });
  child.send(wanted);
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", ({ message }) => (complaints += message));
    child.on("close", resolve);
  });
  if (code === 0 && servers.length === wanted.length) return servers;
  for (const server of servers) server.close();
  throw new StageError(
    "LAMEDUCK_NETWORK_FAILED",
    "--allow",
    complaints.trim().split("\n").at(-1) || `ended with ${code}`,
  );
}

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}
