import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ask } from "./ask.ts";
import { inPod, startServer, type Child } from "./child.ts";

type Reply = string | ((response: ServerResponse, request: IncomingMessage) => void);

/** Answers a pod as a test wants it to be answered, and keeps what the pod says. */
export class Coordination implements AsyncDisposable {
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #parked = new Set<ServerResponse>();
  #reply: Reply;
  connections = 0;
  readonly asked: string[] = [];
  readonly said: Record<string, string>[] = [];
  authorization: string | undefined;
  /** So many times what the pod says is not taken. */
  refused = 0;

  private constructor(reply: Reply) {
    this.#reply = reply;
    this.#server.on("connection", () => this.connections++);
  }

  static async start(reply: Reply): Promise<Coordination> {
    const coordination = new Coordination(reply);
    await once(coordination.#server.listen(0, "127.0.0.1"), "listening");
    return coordination;
  }

  /** To be told to whoever waits, and from now on. */
  say(reply: Reply): void {
    this.#reply = reply;
    for (const response of this.#parked) this.#answer(response);
    this.#parked.clear();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get environment(): Record<string, string> {
    return { ...ofPod, LAMEDUCK_COORDINATOR: `http://127.0.0.1:${this.port}` };
  }

  /** What the pod said last under a key. */
  last(key: string): string | undefined {
    return this.said.findLast((each) => each[key] !== undefined)?.[key];
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.authorization = request.headers.authorization;
    if (request.method === "POST" && this.refused > 0) {
      this.refused--;
      response.writeHead(503).end();
      return;
    }
    if (request.method === "POST") {
      let text = "";
      for await (const part of request) text += String(part);
      const pairs = text.trimEnd().split("\n");
      this.said.push(
        Object.fromEntries(pairs.map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string])),
      );
      response.end("lameduck 1\n");
      return;
    }
    this.asked.push(request.url ?? "");
    const { searchParams } = new URL(request.url ?? "", "http://pod");
    const isKnown =
      typeof this.#reply === "string" && this.#reply.includes(`state: ${searchParams.get("seen")}\n`);
    if (isKnown) this.#parked.add(response);
    else this.#answer(response, request);
  }

  #answer(response: ServerResponse, request?: IncomingMessage): void {
    if (typeof this.#reply === "string") response.end(this.#reply);
    else this.#reply(response, request ?? response.req);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** An answer of version 1. */
export function answerOf(state: string, fields: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ state, ...fields }).map(([key, value]) => `${key}: ${value}\n`);
  return `lameduck 1\n${lines.join("")}`;
}

export const ofPod: Record<string, string> = {
  ...inPod,
  LAMEDUCK_POD_NAME: "web-1",
  LAMEDUCK_POD_NAMESPACE: "shop",
  LAMEDUCK_POD_UID: "5b0c",
};

/** A server that some have asked before. */
export async function asked(env: Record<string, string>, wanted: object = {}): Promise<Child> {
  const child = await startServer(wanted, env);
  for (let request = 0; request < 5; request++) {
    await ask(child.port);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return child;
}

/** The same, and it has got SIGTERM. */
export async function terminated(env: Record<string, string>, wanted: object = {}): Promise<Child> {
  const child = await asked(env, wanted);
  child.kill();
  await child.until("lame-duck");
  return child;
}

/** What it has logged of the coordinator. */
export function notices(child: Child): string[] {
  return child.events.flatMap((event) =>
    event.lameduck === "notice" && event.notice === "coordinator" ? [event.message] : [],
  );
}

export const waiting = answerOf("waiting", { consumers: "4/5", behind: "kube-proxy/node5 (rules)" });
export const released = answerOf("released", {
  "released-ms": "0",
  consumers: "5/5",
  last: "kube-proxy/node5",
  mode: "availability",
});

/** Waits for the release, in little time. */
export const short = { LAMEDUCK_POLICY: "acknowledged", LAMEDUCK_GRACE_PERIOD: "9s", LAMEDUCK_RESERVE: "3s" };
