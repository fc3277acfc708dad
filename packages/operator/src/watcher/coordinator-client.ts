import { readFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { operatorNames } from "../names.ts";
import { bodyOf } from "./consumers/ask.ts";
import { unreadable } from "./consumers/consumer.ts";
import { otherVersion } from "../coordinator/protocol/other-versions.ts";
import { otherVersionIn, readAnswer, type Report, type CoordinatorAnswer } from "./report.ts";

/** Milliseconds that an answer may take beyond the long poll's wait. */
const answerAllowance = 3_000;
/** 100,000 withdrawals. */
const mostBytes = 8 * 2 ** 20;
/** Milliseconds until the token's file is read again. The kubelet renews it long before the old token expires. */
const tokenAge = 60_000;

/** One replica of the coordinator at one address. */
export class CoordinatorClient {
  readonly #at: { readonly host: string; readonly port: number };
  readonly #path: string;
  readonly #tokenFile: string;
  readonly #agent = new Agent({ keepAlive: true });
  #token = { text: "", readAt: -Infinity };

  constructor(
    at: { readonly host: string; readonly port: number },
    { name, tokenFile }: { readonly name: string; readonly tokenFile: string },
  ) {
    this.#at = at;
    this.#path = `${operatorNames.coordinator.paths.consumers}/${encodeURIComponent(name)}`;
    this.#tokenFile = tokenFile;
  }

  /** @throws where it does not answer, refuses, or answers something else than the protocol's. */
  async post(report: Report, signal: AbortSignal): Promise<CoordinatorAnswer> {
    const body = JSON.stringify(report);
    const headers = {
      authorization: `Bearer ${await this.#readToken()}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const { status, text } = await this.#exchange(body, headers, report.wait + answerAllowance, signal);
    if (status === 200) return readAnswer(text);
    if (status === 401) this.#token.readAt = -Infinity;
    const version = otherVersionIn(text);
    if (version !== undefined) throw otherVersion(this.#place, version);
    throw unreadable(this.#place, `answered ${status}: ${text.slice(0, 200)}`);
  }

  close(): void {
    this.#agent.destroy();
  }

  get #place(): string {
    return `the coordinator at ${this.#at.host}:${this.#at.port}`;
  }

  async #readToken(): Promise<string> {
    const now = performance.now();
    if (now - this.#token.readAt > tokenAge)
      this.#token = { text: (await readFile(this.#tokenFile, "utf8")).trim(), readAt: now };
    return this.#token.text;
  }

  #exchange(
    body: string,
    headers: Readonly<Record<string, string | number>>,
    timeout: number,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string }> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
    return new Promise((resolve, reject) => {
      const failed = (error: unknown): void => reject(unreadable(this.#place, "no answer", { cause: error }));
      const sent = request(
        { ...this.#at, path: this.#path, method: "POST", agent: this.#agent, headers, signal: limited },
        (response) => {
          bodyOf(response, mostBytes).then(
            (text) => resolve({ status: response.statusCode ?? 0, text }),
            failed,
          );
        },
      );
      sent.on("error", failed);
      sent.end(body);
    });
  }
}
