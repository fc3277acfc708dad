/** What is rolled, and what stands between the kubelet's SIGTERM and it. */
import { fileURLToPath } from "node:url";
import { manifestFromCommand, type Workload } from "@lameduck/manifests";
import { initBinary } from "../../toolchain/index.ts";

interface Software {
  readonly command: readonly string[];
  /** The signal at which it stops without cutting what it serves; where there is none SIGTERM ends it at once. */
  readonly softStop?: { readonly name: string; readonly number: number };
}

const samples = fileURLToPath(new URL("../../../cli/samples", import.meta.url));

export const softwares: Readonly<Record<string, Software>> = {
  haproxy: {
    command: ["haproxy", "-db", "-f", `${samples}/haproxy.cfg`],
    softStop: { name: "USR1", number: 10 },
  },
  nginx: {
    command: ["sh", "-c", `exec nginx -p "$(mktemp -d /tmp/nginx.XXXXXX)" -c ${samples}/nginx.conf`],
    softStop: { name: "QUIT", number: 3 },
  },
  // Debian's own, as the one first in PATH may be a script in somebody's home.
  python: { command: ["/usr/bin/python3", "-m", "http.server", "8080", "--directory", samples] },
};

/** Seconds that the shell launcher sleeps: as most of those found on clusters do. */
const shellDelay = 5;

interface Launched {
  readonly command: readonly string[];
  readonly preStop?: readonly string[];
}

interface Launcher {
  readonly description: string;
  /** @returns undefined where it makes no sense for that software. */
  readonly launch: (software: Software) => Launched | undefined;
}

/** dumb-init sends the soft stop's signal for SIGTERM, as an image's STOPSIGNAL does. */
const underSoftStop = ({ command, softStop }: Software): string[] => [
  "dumb-init",
  ...(softStop ? ["--rewrite", `15:${softStop.number}`] : []),
  "--",
  ...command,
];

export const launchers: Readonly<Record<string, Launcher>> = {
  "lameduck-init": {
    description: "lameduck-init as PID 1",
    launch: ({ command, softStop }) => ({
      command: [initBinary(), ...(softStop ? ["--signal", `TERM=${softStop.name}`] : []), "--", ...command],
    }),
  },
  "lameduck-init wait": {
    description: "lameduck-init as preStop hook, then the soft stop",
    launch: (software) => ({ command: underSoftStop(software), preStop: [initBinary(), "wait"] }),
  },
  "dumb-init": {
    description: "dumb-init: SIGTERM at once",
    launch: ({ command }) => ({ command: ["dumb-init", "--", ...command] }),
  },
  "soft stop": {
    description: "the software's own soft stop at once",
    launch: (software) => (software.softStop ? { command: underSoftStop(software) } : undefined),
  },
  "shell launcher": {
    description: `sh: trap TERM, sleep ${shellDelay}, then the soft stop`,
    launch: ({ command, softStop }) => ({
      command: [
        "sh",
        "-c",
        `"$@" & pid=$!; trap 'sleep ${shellDelay}; kill -${softStop?.name ?? "TERM"} $pid' TERM; wait $pid; wait $pid`,
        "launcher",
        ...command,
      ],
    }),
  },
};

export interface Cell {
  readonly software: string;
  readonly launcher: string;
}

export const cells: readonly Cell[] = Object.keys(softwares).flatMap((software) =>
  Object.entries(launchers)
    .filter(([, { launch }]) => launch(softwares[software]!) !== undefined)
    .map(([launcher]) => ({ software, launcher })),
);

/** As the Restricted pod security standard has it, and a read-only root besides: only /tmp and /dev/shm can be written to. */
const asRestricted = [
  "sh",
  "-c",
  "mount -n -t tmpfs tmpfs /tmp && mount -n -t tmpfs tmpfs /dev/shm && mount -n -o remount,bind,ro / && cd / && " +
    'exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"',
  "restricted",
];
/** The hook joins the mounts of its container. */
const hookAsRestricted =
  "setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs".split(
    " ",
  );

export function workloadOf({ software, launcher }: Cell, replicas: number): Workload {
  const launched = launchers[launcher]?.launch(softwares[software]!);
  if (!launched) throw new Error(`there is no ${launcher} for ${software}`);
  const workload = manifestFromCommand([...asRestricted, ...launched.command], { replicas, name: software });
  const [container, ...others] = workload.template.containers;
  if (!container) throw new Error("a workload without a container");
  const preStop = launched.preStop && {
    kind: "exec" as const,
    command: [...hookAsRestricted, ...launched.preStop],
  };
  return {
    ...workload,
    progressDeadlineSeconds: 90,
    template: {
      ...workload.template,
      containers: [{ ...container, ...(preStop ? { preStop } : {}) }, ...others],
    },
  };
}
