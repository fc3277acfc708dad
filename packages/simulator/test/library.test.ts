import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, createServer, get, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parseTrace } from "@lameduck/drain";
import { lameduck, type LameduckOptions, type PhaseEvent } from "@lameduck/node";
import type { Scenario } from "../src/model/scenario.ts";
import { type Outcome, terminate } from "../src/model/termination.ts";
import type { PooledRequest, Trace } from "../src/model/trace.ts";
import { drained } from "../src/policies/drained.ts";
import { equalSenders, recorded } from "./samples.ts";

/** The model is given what the library has recorded of its arrivals: what the one says of the other must hold. */
const senders = 4;
const watchedFor = 1_500;

interface Played {
  readonly reason: string;
  readonly hold: number;
  /** When a client on a kept connection was first asked to leave, since SIGTERM. */
  readonly firstAsked: number;
  readonly requestsCut: number;
  readonly closedAfter: number;
  /** Time in which the event loop stood still: the machine's, not the rule's. */
  readonly stalled: number;
}

interface Script {
  /** How long the server had been watched at SIGTERM, in milliseconds. */
  readonly watched: number;
  readonly arrivals: { at: number; sender: number }[];
  readonly pooled: PooledRequest[];
}

/** Real connections to a real server under the library. Its recording is the script for the model: on a busy machine a client's times differ. */
async function playLibrary(
  context: TestContext,
  options: LameduckOptions,
  answerAfter: number,
  send: (to: Client) => Promise<unknown>,
): Promise<{ played: Played; script: Script }> {
  const server = createServer(
    (_, response) => void setTimeout(() => response.end("ok"), answerAfter).unref(),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new Client(server);
  context.after(() => client.close());
  const environment = { KUBERNETES_SERVICE_HOST: "10.96.0.1", LAMEDUCK_GRACE_PERIOD: "30s" };
  const folder = mkdtempSync(join(tmpdir(), "lameduck-model-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const trace = join(folder, "hold.jsonl");
  const settings = {
    signals: false,
    exit: false,
    log: false,
    ramp: 0,
    environment,
    trace,
    ...options,
  } as const;
  const duck = lameduck(server, settings);
  const events: PhaseEvent[] = [];
  duck.on("closing", (event) => void events.push(event));
  const sending = send(client);
  await sleep(watchedFor);
  client.from = performance.now();
  const closed = await duck.terminate();
  const closedAfter = performance.now() - client.from;
  client.stopped = true;
  await sending;
  const [closing] = events;
  assert.ok(closing?.phase === "closing");
  const { hold, reason, stalled } = closing;
  const since = (at: number): number => at - client.from;
  return {
    played: {
      reason,
      hold,
      firstAsked: since(client.firstAsked),
      requestsCut: closed.cut.requests,
      closedAfter,
      stalled,
    },
    script: readScript(trace),
  };
}

function readScript(path: string): Script {
  const { lines, end } = parseTrace(readFileSync(path, "utf8"), path);
  assert.equal(end?.leftOut, 0);
  const arrivals = lines
    .filter((line) => line.type === "arrival")
    .map(({ at, sender, kind }) => ({ at, sender: Number(sender.split(".")[3]) - 2, kind }));
  return {
    watched: -lines.find(({ type }) => type === "watching")!.at,
    arrivals: arrivals.filter(({ kind }) => kind === "connection"),
    pooled: arrivals
      .filter(({ kind }) => kind === "request")
      .map(({ at, sender }) => ({ at, sender, connection: 0, duration: 0 })),
  };
}

class Client {
  readonly #port: number;
  readonly #agents: Agent[] = [];
  from = Infinity;
  firstAsked = Infinity;
  stopped = false;

  constructor(server: Server) {
    this.#port = (server.address() as AddressInfo).port;
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  /** New connections, one each `gap`, until so long after SIGTERM. */
  async connect(sender: number, gap: number, until: number): Promise<void> {
    while (!this.stopped && performance.now() < this.from + until) {
      await this.#get(sender, false);
      await sleep(gap);
    }
  }

  /** Requests on one kept connection, one each `gap`, until the server asks to leave. */
  async keep(sender: number, gap: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.#agents.push(agent);
    while (!this.stopped) {
      const response = await this.#get(sender, agent);
      if (response === undefined || response.headers.connection === "close") {
        this.firstAsked = Math.min(this.firstAsked, performance.now());
        return;
      }
      await sleep(gap);
    }
  }

  #get(sender: number, agent: Agent | false): Promise<IncomingMessage | undefined> {
    return new Promise((resolve) => {
      const options = { port: this.#port, host: "127.0.0.1", localAddress: `127.0.0.${sender + 2}`, agent };
      get(options, (response) => {
        response.resume();
        response.once("close", () => resolve(response));
      }).once("error", () => resolve(undefined));
    });
  }
}

function playModel(
  options: LameduckOptions,
  { watched, arrivals, pooled }: Script,
  service = 0,
): Outcome & { readonly firstAsked: number } {
  const usual = equalSenders(senders, 10, { kind: "delay", delay: 0 });
  const scenario: Scenario = {
    ...usual,
    traffic: { ...usual.traffic, service, pooled: { connections: 1, perPod: 1, oneWay: 0 } },
    pod: { ...usual.pod, grace: Number(options.grace), reserve: Number(options.reserve) },
  };
  const sorted = [...arrivals].sort((a, b) => a.at - b.at);
  const trace: Trace = {
    history: watched,
    convergence: new Float64Array(senders).fill(Infinity),
    rates: new Float64Array(senders).fill(0.001),
    times: Float64Array.from(sorted, ({ at }) => at),
    senders: Int32Array.from(sorted, ({ sender }) => sender),
    identities: Int32Array.from(sorted, ({ sender }) => sender),
    first: sorted.filter(({ at }) => at <= 0).length,
    expectedAfter: () => 0,
    pooled: () => [...pooled].sort((a, b) => a.at - b.at).values(),
  };
  const { contender, seen } = recorded(drained("library", options));
  const outcome = terminate({ ...contender, hints: { ...contender.hints!, ramp: 0 } }, scenario, trace, 1, 0);
  return { ...outcome, firstAsked: seen.find(({ type }) => type === "asked")?.at ?? NaN };
}

const pod = { grace: 9_000, reserve: 2_000, floor: 1_000 } as const;
const policies = [
  { ...pod, policy: "adaptive" },
  { ...pod, policy: "quiet", window: 1_200 },
  { ...pod, policy: "fixed", delay: 3_000 },
  { ...pod, grace: 6_000, policy: "until-deadline" },
] as const satisfies readonly LameduckOptions[];

describe("the model and the library", { concurrency: 3 }, () => {
  for (const options of policies)
    test(`the model stops and hints when the library does, with the policy ${options.policy}`, async (context) => {
      const play = async () => {
        const { played, script } = await playLibrary(context, options, 0, (client) =>
          Promise.all([
            ...Array.from({ length: senders }, (_, sender) => client.connect(sender, 60, 400 * (sender + 1))),
            ...Array.from({ length: senders }, (_, sender) => client.keep(sender, 90)),
          ]),
        );
        return { played, model: playModel(options, script), within: 250 + played.stalled };
      };
      let { played, model, within } = await play();
      // On a busy machine the two differed once in some five plays, and why is not known. A model that is wrong differs in both plays.
      if (Math.abs(model.hold - played.hold) >= within) ({ played, model, within } = await play());
      assert.equal(model.reason, played.reason);
      assert.ok(Math.abs(model.hold - played.hold) < within, `model ${model.hold}, library ${played.hold}`);
      const asked = `model asks at ${model.firstAsked}, library at ${played.firstAsked}`;
      assert.ok(played.firstAsked >= 1_000 && model.firstAsked >= 1_000, asked);
      assert.ok(Math.abs(model.firstAsked - played.firstAsked) < within, asked);
      assert.equal(model.losses.keepAlive + model.losses.inFlight, 0);
      assert.equal(played.requestsCut, 0);
    });

  test("the model cuts what is in flight when the library does", async (context) => {
    const options = { grace: 5_000, reserve: 3_000, floor: 0, policy: "fixed", delay: 500 } as const;
    const { played, script } = await playLibrary(context, options, 60_000, async (client) => {
      await sleep(watchedFor + 200);
      await client.connect(0, 1_000, 300);
    });
    assert.equal(script.arrivals.length, 1);
    const model = playModel(options, script, 60_000);
    assert.equal(played.requestsCut, 1);
    assert.equal(model.losses.inFlight, 1);
    const within = 300 + played.stalled;
    assert.ok(Math.abs(model.total - played.closedAfter) < within, `${model.total}, ${played.closedAfter}`);
  });
});
