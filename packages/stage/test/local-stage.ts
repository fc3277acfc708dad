import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, type TestContext } from "node:test";
import { enterStage, insideStage, openNetwork, startStage, type Stage, type Network } from "../src/index.ts";
import type { StageOptions } from "../src/stage.ts";
import { runClock, type Endpoint, type PodEvent } from "@lameduck/accounting";
import {
  manifestFromCommand,
  type ContainerTemplate,
  type PodTemplate,
  type Workload,
} from "@lameduck/manifests";

/**
 * Runs a test file in a stage: the file is run again inside of namespaces where the machine has them, on loopback elsewhere.
 * @returns the network in the inner run; undefined in the outer one, which has no tests of its own.
 */
export async function stageNetwork(file: string): Promise<Network | undefined> {
  if (!insideStage()) {
    process.exitCode = await enterStage(file, [], {
      network: process.env["LAMEDUCK_TEST_NETWORK"] === "loopback" ? "loopback" : "auto",
      // Pods of tests tell by files what became of them.
      writable: [realpathSync(tmpdir())],
    });
    return undefined;
  }
  const network = await openNetwork();
  process.stderr.write(`${network.kind}${network.because ? ` (${network.because})` : ""}\n`);
  after(() => network.close());
  return network;
}

type EventOf<Type extends PodEvent["type"]> = Extract<PodEvent, { type: Type }>;

export interface Told {
  readonly what: "ready" | "unready" | "terminating" | "gone";
  readonly pod: string;
  readonly at: number;
}

/** A stage whose events can be asked for and waited for. */
export class Observed {
  readonly events: PodEvent[] = [];
  readonly told: Told[] = [];
  readonly endpoints = new Map<string, Endpoint>();
  readonly stage: Stage;
  #waiting: (() => void)[] = [];

  constructor(network: Network, workload: Workload, options: Partial<StageOptions> = {}) {
    const tell = (what: Told["what"]) => (pod: string, at: number) => void this.told.push({ what, pod, at });
    this.stage = startStage({
      ...workload,
      progressDeadlineSeconds: 30,
      clock: runClock(),
      network,
      listener: {
        ready: (endpoint, at) => {
          this.endpoints.set(endpoint.pod, endpoint);
          tell("ready")(endpoint.pod, at);
        },
        unready: tell("unready"),
        terminating: tell("terminating"),
        gone: tell("gone"),
      },
      onEvent: (event) => {
        this.events.push(event);
        for (const wake of this.#waiting.splice(0)) wake();
      },
      ...options,
    });
  }

  all<Type extends PodEvent["type"]>(type: Type, pod?: string): EventOf<Type>[] {
    return this.events.filter(
      (event): event is EventOf<Type> => event.type === type && (pod === undefined || event.pod === pod),
    );
  }

  /** The first such event, waited for if need be; the test's own time-out is the limit. */
  first<Type extends PodEvent["type"]>(type: Type, pod?: string, container?: string): Promise<EventOf<Type>> {
    return this.nth(1, type, pod, container);
  }

  async nth<Type extends PodEvent["type"]>(
    number: number,
    type: Type,
    pod?: string,
    container?: string,
  ): Promise<EventOf<Type>> {
    for (;;) {
      const found = this.all(type, pod).filter(
        (event) => container === undefined || ("container" in event && event.container === container),
      )[number - 1];
      if (found) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}

/** Starts a stage; taken away at the end of the test. */
export function observe(
  test: TestContext,
  network: Network,
  workload: Workload,
  options: Partial<StageOptions> = {},
): Observed {
  const observed = new Observed(network, workload, options);
  test.after(() => observed.stage.stop());
  return observed;
}

/** The workload of a command with changes to its only container and its pod. */
export function workload(
  command: readonly string[],
  changes: {
    readonly container?: Partial<ContainerTemplate>;
    readonly pod?: Partial<PodTemplate>;
    readonly replicas?: number;
  } = {},
): Workload {
  const made = manifestFromCommand(command, { replicas: changes.replicas ?? 1, port: 8080, graceSeconds: 3 });
  return {
    ...made,
    template: {
      ...made.template,
      containers: made.template.containers.map((container) => ({
        ...container,
        name: "main",
        ...changes.container,
      })),
      ...changes.pod,
    },
  };
}

const server = `
const { createServer } = require("node:http");
const server = createServer((request, response) => response.end(process.env.HOSTNAME));
server.listen(Number(process.env.PORT), process.env.HOST);
`;

/** A small server with `more` added to it. */
export function node(more = ""): string[] {
  return [process.execPath, "-e", server + more];
}

export const closesAtTerm = `process.once("SIGTERM", () => server.close(() => process.exit(0)));`;
export const ignoresTerm = `process.on("SIGTERM", () => {});`;
