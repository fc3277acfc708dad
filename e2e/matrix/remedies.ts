import { findRemedy } from "@lameduck/stage";
import { initPath, nginxImage } from "../cluster/index.ts";
import type { ServerOptions } from "../cluster/workload.ts";

export const graceSeconds = 30;
const server = ["node", "/app/server.mjs"];

/** What is different in the pod; the description is what stands in the table. */
export interface ClusterRemedy {
  readonly name: string;
  readonly description: string;
  readonly pod: Partial<ServerOptions>;
}

/** Nothing in a container knows it. */
const graceEnvironment = { LAMEDUCK_GRACE_PERIOD: `${graceSeconds}s` };
/** Init as PID 1 before a server that closes at once on SIGTERM, as most software does. */
const initEnvironment = { SHUTDOWN: "close", ...graceEnvironment };

const waiting = (init: string) => ({ preStop: { exec: { command: [init, "wait"] } } });

const ofInit = (init: string): readonly ClusterRemedy[] => [
  {
    name: "init",
    description: "lameduck-init as PID 1, adaptive, before a server that closes at SIGTERM",
    pod: { environment: initEnvironment, command: [init, "--log", "json", "--"], args: server },
  },
  {
    name: "init-wait",
    description: "lameduck-init wait as preStop hook, adaptive, beside a server that closes at SIGTERM",
    pod: { environment: initEnvironment, lifecycle: waiting(init) },
  },
];

/** nginx instead of the sample server, with the configuration and the stop signal of its image. */
const nginx = { image: nginxImage, args: [], environment: graceEnvironment };

const ofNginx = (init: string): readonly ClusterRemedy[] => [
  { name: "nginx-quit", description: "nginx, its graceful stop at once", pod: nginx },
  {
    name: "nginx-init",
    description: "lameduck-init as PID 1, adaptive, before nginx",
    pod: {
      ...nginx,
      command: [init, "--log", "json", "--stop-signal", "QUIT", "--"],
      args: ["nginx"],
    },
  },
  {
    name: "nginx-init-wait",
    description: "lameduck-init wait as preStop hook, adaptive, then nginx's graceful stop",
    pod: { ...nginx, lifecycle: waiting(init) },
  },
];

/** Those that the lab does not have. */
export const ownRemedies = (init = initPath): readonly ClusterRemedy[] => [...ofInit(init), ...ofNginx(init)];

/** The remedies of the lab by their names there, and those of the init, which lies where it is said to. */
export function clusterRemedy(name: string, init = initPath): ClusterRemedy | undefined {
  const own = ownRemedies(init).find((remedy) => remedy.name === name);
  if (own !== undefined) return own;
  const remedy = findRemedy(name);
  const adjustment = remedy?.adjust({ kind: "sample", program: "node", graceSeconds });
  if (remedy === undefined || adjustment === undefined || "unavailable" in adjustment) return undefined;
  const { env = {}, preStopSleepSeconds } = adjustment;
  return {
    name,
    description: remedy.description,
    pod: {
      environment: env,
      ...(preStopSleepSeconds === undefined
        ? {}
        : { lifecycle: { preStop: { sleep: { seconds: preStopSleepSeconds } } } }),
    },
  };
}
