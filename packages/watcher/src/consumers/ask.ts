import { request as requestHttp, type RequestOptions } from "node:http";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import { messageOf } from "@lameduck/drain/common";
import { unreadable } from "../consumer.ts";

/** Milliseconds for an answer. A proxy that takes longer is polled again. */
const longest = 3_000;
/** An answer about 50,000 servers. */
const mostBytes = 64 * 2 ** 20;

/** Where a proxy listens: a host and port, or the path of a unix socket. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string };

/** Reads "/run/haproxy.sock" or "127.0.0.1:9999"; undefined for anything else. */
export function endpointOf(text: string): Endpoint | undefined {
  if (text.startsWith("/")) return { path: text };
  const [, host = "", port = ""] = /^(?:tcp:\/\/)?(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === "" || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** Makes of a URL what reads there. */
export const atUrl =
  <T>(make: (url: URL) => T) =>
  (where: string): T | undefined => {
    const url = URL.parse(where);
    return url === null || !/^https?:$/.test(url.protocol) ? undefined : make(url);
  };

/** Sends a text to a socket and reads until the other side closes it. @throws {OperatorError} */
export async function askSocket(endpoint: Endpoint, text: string, signal: AbortSignal): Promise<string> {
  const place = "path" in endpoint ? endpoint.path : `${endpoint.host}:${endpoint.port}`;
  const socket = connect(endpoint);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(longest)]);
  const stopped = (): void => void socket.destroy(new Error(`no answer within ${longest / 1_000} s`));
  if (limit.aborted) stopped();
  else limit.addEventListener("abort", stopped, { once: true });
  // HAProxy answers the command and closes. Closing our side first would cut a long answer.
  socket.write(text);
  try {
    return await bodyOf(socket, mostBytes, "closed in the middle of an answer");
  } catch (error) {
    throw unreadable(place, messageOf(error), { cause: error });
  } finally {
    limit.removeEventListener("abort", stopped);
  }
}

export interface Question {
  readonly method?: "GET" | "POST";
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A Unix socket to connect to in place of the URL's host. */
  readonly socketPath?: string;
}

/** Returns the body of an answer with status 200. @throws {OperatorError} for any other answer. */
export async function askHttp(url: URL, signal: AbortSignal, question: Question = {}): Promise<string> {
  const { method = "GET", body, headers = {}, socketPath } = question;
  const place = `${method} ${url.href}`;
  const options: RequestOptions = {
    method,
    headers: body === undefined ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(longest)]),
    ...(socketPath === undefined ? {} : { socketPath }),
  };
  // TLS takes 3 MB, which a watcher of kube-proxy need not have.
  const request = url.protocol === "https:" ? (await import("node:https")).request : requestHttp;
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(unreadable(place, error.message, { cause: error }));
    const sent = request(url, options, (response) => {
      bodyOf(response, mostBytes).then((text) => {
        if (response.statusCode === 200) resolve(text);
        else failed(new Error(`status ${response.statusCode}: ${text.slice(0, 200)}`));
      }, failed);
    });
    sent.on("error", failed);
    sent.end(body);
  });
}

/** The whole body of an answer. @throws where it is longer than `mostBytes`, or cut off. */
export function bodyOf(response: Readable, mostBytes: number, cutOff = "cut off"): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response
      .on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostBytes) response.destroy(new Error(`more than ${mostBytes} bytes`));
        else chunks.push(chunk);
      })
      .on("end", () => resolve(Buffer.concat(chunks).toString()))
      .on("error", reject)
      .on("close", () => reject(new Error(cutOff)));
  });
}

/** @throws {OperatorError} */
export function readJson(text: string, place: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw unreadable(place, "the answer is no JSON, or not all of it", { cause: error });
  }
}

/** The fields of an object. @throws {OperatorError} for any other value. */
export function fieldsOf(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw unreadable(place, "something is no object that should be one");
}

/** The entries of a list; empty where the list is missing. @throws {OperatorError} for any other value. */
export function listOf(value: unknown, place: string): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value as readonly unknown[];
  throw unreadable(place, "something is no list that should be one");
}
