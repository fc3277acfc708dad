import { readFile } from "node:fs/promises";
import type { LookupFunction } from "node:net";
import { request, type IncomingMessage } from "../node-http.ts";
import { lookupUntil } from "./names.ts";
import type { CoordinatorPlace } from "../options/coordinator.ts";

/** Milliseconds to connect, name resolution included. */
const longestConnectMs = 1_000;
/** Bytes of an answer; one has some 300. */
const longestAnswer = 16_384;

/** Sends requests to the coordinator, one connection each. No request keeps the process alive, or waits beyond its timeout. */
export class Requests {
  readonly #place: CoordinatorPlace;
  readonly #ended: AbortSignal;
  readonly #resolve: LookupFunction;
  /** Callers that wait for the addresses. */
  readonly #waiting: Parameters<LookupFunction>[2][] = [];
  /** Number of failed requests. After each one another address of the name is tried first. */
  #failures = 0;

  constructor(place: CoordinatorPlace, ended: AbortSignal, resolve: LookupFunction = lookupUntil(ended)) {
    this.#place = place;
    this.#ended = ended;
    this.#resolve = resolve;
  }

  /**
   * @param query "&name=value" for the path, which has a query.
   * @param body for a POST.
   * @param within milliseconds until the whole answer is there.
   * @throws {Error} unless it was answered with 200.
   */
  async send(query: string, body: string | undefined, within: number): Promise<string> {
    try {
      return await this.#send(query, body, within);
    } catch (error) {
      this.#failures++;
      throw error;
    }
  }

  async #send(query: string, body: string | undefined, within: number): Promise<string> {
    const { host, port, path, tokenFile } = this.#place;
    const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, "utf8")).trim();
    return new Promise((resolve, reject) => {
      const sent = request({
        host,
        port,
        path: `${path}${query}`,
        method: body === undefined ? "GET" : "POST",
        headers: {
          accept: "text/plain",
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
        },
        agent: false,
        lookup: this.#lookup,
        signal: this.#ended,
      });
      const giveUp = (problem: string) => () => void sent.destroy(new Error(problem));
      const connecting = setTimeout(giveUp(`no connection within ${longestConnectMs} ms`), longestConnectMs);
      const whole = setTimeout(giveUp(`no answer within ${within} ms`), within);
      for (const timer of [connecting, whole]) timer.unref();
      sent.on("socket", (socket) => {
        socket.unref();
        socket.once("connect", () => clearTimeout(connecting));
      });
      sent.on("response", (response) => {
        readAll(response).then(resolve, reject);
      });
      sent.on("error", reject);
      // Also where neither a response nor an error came: after an upgrade that nobody asked for.
      sent.on("close", () => {
        clearTimeout(connecting);
        clearTimeout(whole);
        reject(new Error("closed without an answer"));
      });
      sent.end(body);
    });
  }

  /** One look-up for all requests that wait: slow name servers are not asked once for each. */
  readonly #lookup: LookupFunction = (host, options, callback) => {
    this.#waiting.push(callback);
    if (this.#waiting.length > 1) return;
    this.#resolve(host, options, (error, found, family) => {
      const addresses = Array.isArray(found) ? turned(found, this.#failures) : found;
      for (const each of this.#waiting.splice(0)) each(error, addresses, family);
    });
  };
}

function turned<T>(all: readonly T[], by: number): T[] {
  const first = by % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

async function readAll(response: IncomingMessage): Promise<string> {
  if (response.statusCode !== 200) {
    response.destroy();
    throw new Error(`status ${response.statusCode}`);
  }
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) {
    text += String(part);
    if (text.length > longestAnswer) throw new Error("an endless answer");
  }
  return text;
}
