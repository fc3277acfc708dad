import { Agent, request } from "node:http";

export interface Tally {
  sent: number;
  failed: number;
  /** What went wrong, by its kind. */
  readonly failures: Map<string, number>;
  /** Which process answered how often, by the body of the answer. */
  readonly answers: Map<string, number>;
}

export function tally(): Tally {
  return { sent: 0, failed: 0, failures: new Map(), answers: new Map() };
}

export interface ClientOptions {
  port: number;
  path?: string;
  /** Default POST, which nobody may retry. */
  method?: string;
  /** Milliseconds between an answer and the next request. */
  think: () => number;
  /** A connection of its own for each request. */
  fresh?: boolean;
}

/** One client that sends requests, never again if they fail, over a pool of one connection, until told to stop. */
export async function client(options: ClientOptions, into: Tally, stop: AbortSignal): Promise<void> {
  const agent = new Agent({ keepAlive: !options.fresh, maxSockets: 1 });
  while (!stop.aborted) {
    into.sent++;
    try {
      count(into.answers, await send(options, agent));
    } catch (error) {
      into.failed++;
      count(into.failures, error instanceof Error ? error.message : String(error));
    }
    await new Promise((resolve) => setTimeout(resolve, options.think()));
  }
  agent.destroy();
}

function send(options: ClientOptions, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port, path = "/", method = "POST" } = options;
    const sending = request({ host: "127.0.0.1", port, path, method, agent }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("error", reject).on("end", () => {
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    sending.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        new Error(`${error.code ?? error.message}${sending.reusedSocket ? " on a reused connection" : ""}`),
      ),
    );
    sending.end(method === "POST" ? "{}" : undefined);
  });
}

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

export function between(low: number, high: number): () => number {
  return () => low + Math.random() * (high - low);
}
