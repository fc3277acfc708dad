/** Clients that speak HTTP/1.1. */
import { Agent, request } from "node:http";
import { longMs, sleep, slowMs, type Client, type Conversation } from "./conversation.ts";

/** Longer than any grace period here. */
const longest = 14_000;
/** New requests begin in the first moments only, so that their senders are soon seen to be silent. */
const newEvery = 60;
const newRequests = 6;

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly agent?: Agent;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** The text of a whole answer; undefined where there was none. */
export function ask(
  port: number,
  { path = "/", method = "GET", agent, headers = {}, body }: Asked = {},
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chosen = {
      host: "127.0.0.1",
      port,
      path,
      method,
      headers,
      agent: agent ?? false,
      timeout: longest,
    };
    const asking = request(chosen as object, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve(response.statusCode === 200 ? text : undefined));
      response.on("error", () => resolve(undefined));
    });
    asking.on("timeout", () => asking.destroy());
    asking.on("error", () => resolve(undefined));
    asking.end(body);
  });
}

const isOk = async (answer: Promise<string | undefined>): Promise<boolean> => (await answer) !== undefined;

/** New requests in the first moments after the signal, each on a connection of its own. */
export async function arrive({ port, note, signalled }: Conversation): Promise<void> {
  await signalled;
  const asked: Promise<void>[] = [];
  for (let number = 1; number <= newRequests; number++) {
    await sleep(newEvery);
    const at = Date.now();
    asked.push(isOk(ask(port)).then((isAnswered) => note(`new request ${number}`, isAnswered, at)));
  }
  await Promise.all(asked);
}

export const http: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await ask(port, { agent });
  const slow = isOk(ask(port, { path: `/?ms=${slowMs}` })).then((it) => note("slow request", it));
  const long = isOk(ask(port, { path: `/?ms=${longMs}`, method: "POST", body: "{}" })).then((it) =>
    note("long request", it),
  );
  // Answered after them, it shows that they have been received.
  await sleep(20);
  await ask(port);
  begun();
  await signalled;
  const arriving = arrive(conversation);
  await sleep(newEvery);
  const at = Date.now();
  const pooled = isOk(ask(port, { agent })).then((it) => note("request on an open connection", it, at));
  await Promise.all([slow, long, pooled, arriving]);
  agent.destroy();
};

/** A health check and nothing else, for programs whose work is elsewhere. */
export const health: Client = async ({ port, begun }) => {
  await ask(port, { path: "/healthz" });
  begun();
};

/** Talks to nobody: a worker, or a program that ends by itself. */
export const none: Client = ({ begun }) => {
  begun();
  return Promise.resolve();
};

/** A language model's completion, and an event stream without an end. */
export const events: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const completion = ask(port, { path: "/completion", method: "POST", body: "{}" }).then((text) =>
    note("completion", text?.endsWith("[DONE]\n\n") === true),
  );
  const feed = ask(port, { path: "/feed" });
  await sleep(20);
  await ask(port);
  begun();
  await signalled;
  await Promise.all([completion, feed, arrive(conversation)]);
};

/** An event stream that ends, by GET, whose client does not say that it takes one. */
export const report: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const whole = ask(port, { path: "/completion" }).then((text) =>
    note("report", text?.endsWith("[DONE]\n\n") === true),
  );
  await sleep(20);
  await ask(port);
  begun();
  await signalled;
  await Promise.all([whole, arrive(conversation)]);
};

/** Event streams that the program ends itself, by a last event. */
export const feeds: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const feed = ask(port, { path: "/feed" }).then((text) =>
    note("last event", text?.includes("bye") === true),
  );
  await sleep(20);
  await ask(port);
  begun();
  await signalled;
  await Promise.all([feed, arrive(conversation)]);
};

/** An upload that waits for 100 Continue until after the signal. */
export const expecting: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  await ask(port);
  const upload = new Promise<boolean>((resolve) => {
    const headers = { expect: "100-continue", "content-length": "5" };
    const asking = request({
      host: "127.0.0.1",
      port,
      method: "POST",
      path: "/upload",
      headers,
      agent: false,
    });
    asking.on("continue", () => asking.end("12345"));
    asking.on("response", (response) =>
      response.resume().on("end", () => resolve(response.statusCode === 200)),
    );
    asking.on("error", () => resolve(false));
    asking.flushHeaders();
  });
  await sleep(50);
  await ask(port);
  begun();
  await signalled;
  await Promise.all([upload.then((it) => note("upload", it)), arrive(conversation)]);
};

/** Twenty at once, after the program has replaced one of those that accept from its listener. */
export const survivors: Client = async ({ port, note, begun }) => {
  await ask(port, { path: "/replace" });
  const answers = await Promise.all(Array.from({ length: 20 }, () => isOk(ask(port))));
  note("twenty at once after a replacement", answers.every(Boolean));
  begun();
};

/** Asks a program to replace its helper while it serves. */
export const replacing: Client = async ({ port, note, begun }) => {
  const from = performance.now();
  await ask(port, { path: "/replace" });
  // A helper without handlers ends at once.
  note("helper replaced within two seconds", performance.now() - from < 2_000);
  begun();
};

/** Queries of GraphQL in flight, and new ones. */
export const graphql: Client = async (conversation) => {
  const { port, note, begun, signalled } = conversation;
  const query = (ms: number): Promise<boolean> => {
    const body = JSON.stringify({ query: `{ late(ms: ${ms}) }` });
    return isOk(
      ask(port, { path: "/graphql", method: "POST", headers: { "content-type": "application/json" }, body }),
    );
  };
  await query(0);
  const slow = query(slowMs).then((it) => note("slow query", it));
  const long = query(longMs).then((it) => note("long query", it));
  await sleep(20);
  await query(0);
  begun();
  await signalled;
  await sleep(newEvery);
  const at = Date.now();
  note("new query", await query(0), at);
  await Promise.all([slow, long]);
};

/** Asks a program to end itself, with a request in flight. */
export const quit: Client = async ({ port, note, begun }) => {
  const long = isOk(ask(port, { path: `/?ms=${slowMs}` }));
  await sleep(20);
  await ask(port, { path: "/quit" });
  begun();
  note("request in flight", await long);
};
