import { spawn } from "node:child_process";
import { connect, isIP, type Server, type Socket } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { cut } from "@lameduck/load";
import { StageError } from "../errors.ts";
import { passOn, type Forward } from "./forward.ts";
import { ip } from "./run.ts";

/** One address on which a pod finds what it may reach. */
export interface ForwardListener {
  readonly address: string;
  readonly port: number;
  /** Where the machine has no such address, it goes without. */
  readonly optional: boolean;
}

interface Wanted extends ForwardListener {
  readonly socket: string;
}

/**
 * Listens in a pod's namespace. A socket belongs to the namespace where it was made, so a process that enters it makes them, hands them
 * over and ends.
 * @param inside - the command that enters the namespace.
 * @returns how to stop.
 * @throws StageError LAMEDUCK_NETWORK_FAILED
 */
export async function listenForwards(
  forwards: readonly Forward[],
  inside: readonly string[],
): Promise<() => void> {
  const wanted = wantedOf(forwards);
  if (wanted.length === 0) return () => undefined;
  const foreign = wanted.map(({ address }) => address).filter((address) => !isLoopback(address));
  if (foreign.length > 0)
    await ip(
      [...new Set(foreign)]
        .map((address) => `addr add ${address}/${isIP(address) === 6 ? 128 : 32} dev lo`)
        .join("\n"),
      inside,
    );
  const listening = await madeInside(wanted, inside);
  // An open connection would keep the namespace alive.
  const open = new Set<Socket>();
  for (const { server, socket } of listening)
    server.on("connection", (pod) => {
      open.add(pod);
      pod.on("close", () => open.delete(pod));
      const stage = connect({ path: socket, allowHalfOpen: true });
      // The other side did not answer. For the program that is a broken connection, not an orderly end.
      stage.on("end", () => stage.bytesRead === 0 && cut(pod));
      stage.on("error", () => cut(pod));
      passOn(pod, stage);
    });
  return () => {
    for (const { server } of listening) server.close();
    for (const pod of open) cut(pod);
  };
}

/** Each address once, whatever it was called. */
function wantedOf(forwards: readonly Forward[]): Wanted[] {
  const wanted = new Map<string, Wanted>();
  for (const { host, addresses, port, socket } of forwards)
    for (const address of addresses) {
      const key = `${address} ${port}`;
      const optional = host === "localhost";
      if (!wanted.has(key) || !optional) wanted.set(key, { address, port, socket, optional });
    }
  return [...wanted.values()];
}

async function madeInside(wanted: readonly Wanted[], inside: readonly string[]) {
  const program = fileURLToPath(new URL(`./forward-child${extname(import.meta.url)}`, import.meta.url));
  const [file, ...rest] = [...inside, process.execPath, program];
  // A test runner's variable would make the child report to it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(file, rest, { stdio: ["ignore", "ignore", "pipe", "ipc"], env });
  let stderrText = "";
  child.stderr!.on(
    "data",
    (bytes: Buffer) => (stderrText = `${stderrText}${bytes.toString()}`.slice(-4_000)),
  );
  const made: { readonly server: Server; readonly socket: string }[] = [];
  child.on("message", (listener, handle) => {
    const server = handle as Server;
    // The half that the program closes may be the half that the other end waits for.
    Object.assign(server, { allowHalfOpen: true });
    made.push({ server, socket: (listener as Wanted).socket });
  });
  child.send(wanted);
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", ({ message }) => (stderrText += message));
    child.on("close", resolve);
  });
  if (code === 0) return made;
  for (const { server } of made) server.close();
  throw new StageError(
    "LAMEDUCK_NETWORK_FAILED",
    "--allow",
    stderrText.trim().split("\n").at(-1) || `ended with ${code}`,
  );
}

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}
