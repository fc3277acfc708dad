import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { KubernetesClient } from "./client.ts";

export interface Command {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly command: readonly string[];
}

/** How a command in a container ended. */
export interface CommandEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined where it did not start, or where the connection has ended before it. */
  readonly exitCode: number | undefined;
  /** Why it did not start; undefined where it ran, and where the connection has ended before it. */
  readonly problem: string | undefined;
}

/** What the API server says of an exit, in the last message. */
interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** Channels: the first byte of each message. */
const [stdoutChannel, stderrChannel, statusChannel] = [1, 2, 3] as const;
/** The commands of Lameduck write lines only. */
const mostOutputBytes = 1_000_000;

/** Runs a command in a container as `kubectl exec` does, without input. @throws {ApiFailure} where the API server refuses. */
export async function runInContainer(
  client: KubernetesClient,
  { namespace, pod, container, command }: Command,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const query = new URLSearchParams({ container, stdout: "true", stderr: "true" });
  for (const word of command) query.append("command", word);
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
    "sec-websocket-protocol": "v4.channel.k8s.io",
  };
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query.toString()}`;
  const socket = await client.upgrade(path, headers, signal);
  const output = new Map<number, Buffer[]>();
  const textOf = (channel: number): string => Buffer.concat(output.get(channel) ?? []).toString("utf8");
  let size = 0;
  try {
    for await (const message of messagesOf(socket, signal)) {
      const [channel = 0] = message;
      output.set(channel, [...(output.get(channel) ?? []), message.subarray(1)]);
      size += message.length;
      if (channel === statusChannel || size > mostOutputBytes) break;
    }
  } catch (error) {
    // A container that ends takes the connection with it; what it has written counts.
    if (signal.aborted && size === 0) throw error;
  } finally {
    socket.destroy();
  }
  const ended = endOf(textOf(statusChannel));
  return { stdout: textOf(stdoutChannel), stderr: textOf(stderrChannel), ...ended };
}

function endOf(text: string): Pick<CommandEnd, "exitCode" | "problem"> {
  if (text === "") return { exitCode: undefined, problem: undefined };
  let found: Status;
  try {
    found = JSON.parse(text) as Status;
  } catch {
    return { exitCode: undefined, problem: text.slice(0, 500) };
  }
  if (found.status === "Success") return { exitCode: 0, problem: undefined };
  const exit = found.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
  const exitCode = exit === undefined ? Number.NaN : Number(exit);
  return Number.isInteger(exitCode)
    ? { exitCode, problem: undefined }
    : { exitCode: undefined, problem: found.message ?? "it did not run" };
}

/** Opcodes of RFC 6455 by which a message begins, goes on, and the other side closes. */
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8 } as const;

/** The messages of a WebSocket, from its server: those are not masked. Pings go unanswered, because commands are short. */
async function* messagesOf(socket: Socket, signal: AbortSignal): AsyncGenerator<Buffer> {
  const abort = (): void => void socket.destroy(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  let bytes = Buffer.alloc(0);
  let parts: Buffer[] = [];
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes = Buffer.concat([bytes, chunk]);
      for (let frame = frameIn(bytes); frame !== undefined; frame = frameIn(bytes)) {
        bytes = bytes.subarray(frame.size);
        if (frame.opcode === opcodes.close) return;
        if (frame.opcode > opcodes.binary) continue;
        parts.push(frame.payload);
        if (!frame.isLast) continue;
        const message = Buffer.concat(parts);
        parts = [];
        if (message.length > 0) yield message;
      }
      if (bytes.length > mostOutputBytes) throw new Error("a frame without an end");
    }
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** @returns undefined where the message has not come whole. */
function frameIn(bytes: Buffer) {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  const short = second & 0x7f;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < head) return undefined;
  const length = head === 2 ? short : head === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  /** Of the message with its head. */
  const size = head + length;
  if (bytes.length < size) return undefined;
  return { opcode: first & 0x0f, isLast: first >= 0x80, payload: bytes.subarray(head, size), size };
}
