import type { Adjustments } from "../adjust.ts";

/** What is being rolled, as far as a remedy must know. */
export interface App {
  /** `sample`: the bundled server, which obeys SHUTDOWN. `node`: a Node program. `other`: any other software. */
  readonly kind: "sample" | "node" | "other";
  /** The name of the program, without its folder. */
  readonly program: string;
  readonly graceSeconds: number;
  /** The --import specifier of the zero-code library, for Node programs. */
  readonly register?: string;
  /** Its command starts a lameduck-init that it brings itself. A second one around it would hold a second time. */
  readonly ownInit?: boolean;
  /** Path of the lameduck-init binary, where there is one for this machine. */
  readonly init?: string;
  /** Where it runs from an image, with the signal that the image wants to be stopped by. */
  readonly image?: {
    readonly stopSignal?: string;
    /** The library as one file, where there is one. */
    readonly register?: string;
  };
}

/** What a remedy changes in the pod. */
export type Adjustment = Pick<Adjustments, "preStopSleepSeconds" | "env" | "commandPrefix" | "files">;

export interface Remedy {
  readonly name: string;
  /** What is done, in one sentence. */
  readonly description: string;
  /** What only a program that obeys SHUTDOWN can do. */
  readonly sampleOnly?: true;
  /** @returns what to change, or why the remedy cannot be had for this app. */
  adjust(app: App): Adjustment | { readonly unavailable: string };
}

/** Seconds of the preStop sleeps that people use. */
const usualSleeps = [2, 5, 10, 15] as const;

export const remedies: readonly Remedy[] = [
  {
    name: "nothing",
    description: "no remedy: the program as it is",
    adjust: (app) => sample(app, "exit"),
  },
  {
    name: "ignore",
    description: "no handler for SIGTERM in PID 1: serves until SIGKILL",
    sampleOnly: true,
    adjust: (app) => onlySample(app, "ignore"),
  },
  {
    name: "close",
    description: "server.close() at SIGTERM, as framework documentation shows",
    sampleOnly: true,
    adjust: (app) => onlySample(app, "close"),
  },
  {
    name: "unready",
    description: "readiness fails at SIGTERM; server.close() once the probe has seen it",
    sampleOnly: true,
    adjust: (app) => onlySample(app, "unready"),
  },
  ...usualSleeps.map(sleep),
  {
    name: "sleep-trap",
    description: "preStop sleep as long as the grace period: the program is never told",
    adjust: (app) => ({ preStopSleepSeconds: app.graceSeconds, ...sample(app, "close") }),
  },
  policy("fixed", "Lameduck, a fixed delay of 10 s", { LAMEDUCK_DELAY: "10s" }),
  policy("quiet", "Lameduck, stops after 5 s without traffic", { LAMEDUCK_WINDOW: "5s" }),
  policy("until-deadline", "Lameduck, serves until the grace period is nearly over", {}),
  policy("adaptive", "Lameduck, stops when the evidence says that traffic has moved away", {}),
];

/** Remedies that `npm start` compares: what people do, and what Lameduck offers instead. */
export const usualRemedies = ["nothing", "close", "sleep-2", "sleep-5", "sleep-15", "adaptive"] as const;

export function findRemedy(name: string): Remedy | undefined {
  const sleepSeconds = /^sleep-(\d{1,4})$/.exec(name)?.[1];
  return (
    remedies.find((remedy) => remedy.name === name) ??
    (sleepSeconds === undefined ? undefined : sleep(Number(sleepSeconds)))
  );
}

function sleep(seconds: number): Remedy {
  return {
    name: `sleep-${seconds}`,
    description: `preStop sleep ${seconds}, then what the program does at SIGTERM`,
    adjust: (app) =>
      seconds > app.graceSeconds
        ? {
            unavailable: `the API server refuses a sleep of ${seconds} s with ${app.graceSeconds} s of grace`,
          }
        : { preStopSleepSeconds: seconds, ...sample(app, "close") },
  };
}

function policy(name: string, description: string, settings: Readonly<Record<string, string>>): Remedy {
  return {
    name,
    description,
    adjust: (app) => {
      const env = { LAMEDUCK_POLICY: name, LAMEDUCK_GRACE_PERIOD: `${app.graceSeconds}s`, ...settings };
      if (app.kind === "sample") return { env: { ...env, SHUTDOWN: "lameduck" } };
      const register = app.image ? app.image.register : app.register;
      if (app.kind === "node" && register) return withLibrary(app, register, env);
      if (app.ownInit) return { env };
      if (app.init) return withInit(app, app.init, env);
      return {
        unavailable:
          app.kind === "node"
            ? "@lameduck/node is not installed"
            : "there is no lameduck-init; `lameduck help LAMEDUCK_INIT_NOT_BUILT` tells more",
      };
    },
  };
}

/** Where an image has what belongs to Lameduck, as in a cluster. */
const imageFolder = "/lameduck";

function withLibrary({ image }: App, register: string, env: Readonly<Record<string, string>>): Adjustment {
  if (!image) return { env: { ...env, NODE_OPTIONS: `--import ${register}` } };
  const to = `${imageFolder}/lameduck-register.cjs`;
  return { env: { ...env, NODE_OPTIONS: `--require ${to}` }, files: [{ from: register, to }] };
}

function withInit({ image, program }: App, init: string, env: Readonly<Record<string, string>>): Adjustment {
  if (!image) return { env, commandPrefix: [init, ...softStop(program), "--"] };
  const to = `${imageFolder}/lameduck-init`;
  const { stopSignal } = image;
  const stop =
    stopSignal === undefined ? softStop(program) : ["--stop-signal", stopSignal.replace(/^SIG/, "")];
  return { env, commandPrefix: [to, ...stop, "--"], files: [{ from: init, to }] };
}

function sample(app: App, shutdown: string): Adjustment {
  return app.kind === "sample" ? { env: { SHUTDOWN: shutdown } } : {};
}

function onlySample(app: App, shutdown: string): Adjustment | { unavailable: string } {
  return app.kind === "sample"
    ? sample(app, shutdown)
    : { unavailable: "a program that is not ours does at SIGTERM what it does; that is the row `nothing`" };
}

/** The signal at which software stops without cutting what it serves, where that is not SIGTERM. */
function softStop(program: string): string[] {
  const signal = { haproxy: "USR1", nginx: "QUIT" }[program];
  return signal === undefined ? [] : ["--signal", `TERM=${signal}`];
}
