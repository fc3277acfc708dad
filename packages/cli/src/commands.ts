import type { Command } from "commander";
import { connection, type Taken } from "./shared.ts";

/** Remembers the exit code that a command ends with. */
type Exit = (code: number) => number;

const measuring = "Measure and predict, on this machine:";
const operating = "In a cluster:";
const preparing = "In manifests and images:";
const others = "Help:";

/** Of a run under load. */
const runs = ["html", "junit", "markdown"] as const;

interface Listed extends Taken {
  /** Where the command stands in `lameduck --help`, and its line there. */
  readonly group: string;
  readonly summary: string;
  readonly load: (exit: Exit) => Promise<Command>;
}

/** The commands in the order of the help. Each is loaded only where it is wanted: the lab alone is hundreds of files. */
const listed: Readonly<Record<string, Listed>> = {
  lab: {
    group: measuring,
    summary: "roll a server under load, and count lost requests",
    takes: ["json"],
    writes: runs,
    load: async (exit) => (await import("./lab/command.ts")).labCommand(exit),
  },
  rollout: {
    group: operating,
    summary: "roll or watch a workload under load, and count lost requests",
    takes: ["namespace", ...connection, "json"],
    writes: runs,
    load: async (exit) => (await import("./rollout/command.ts")).rolloutCommand(exit),
  },
  simulate: {
    group: measuring,
    summary: "compute losses and holds in a model, or which settings to choose",
    takes: ["json"],
    writes: ["html", "patch"],
    load: async (exit) => (await import("./simulate/command.ts")).simulate(exit),
  },
  explain: {
    group: measuring,
    summary: "explain why a pod held so long, from its recording",
    takes: ["json"],
    writes: ["html"],
    load: async () => (await import("./explain/command.ts")).explain(),
  },
  audit: {
    group: preparing,
    summary: "find workloads that will lose requests, and fix them",
    takes: ["namespace", ...connection, "json"],
    writes: ["html", "junit", "markdown", "sarif", "github"],
    load: async (exit) => (await import("./audit/command.ts")).auditCommand(exit),
  },
  check: {
    group: operating,
    summary: "look at a cluster before anything is installed",
    takes: ["lameduckNamespace", ...connection, "json"],
    load: async (exit) => (await import("./check/command.ts")).checkCommand(exit),
  },
  install: {
    group: operating,
    summary: "inject Lameduck into new pods of labelled namespaces",
    takes: ["lameduckNamespace", ...connection],
    load: async (exit) => (await import("./install/install.ts")).installCommand(exit),
  },
  status: {
    group: operating,
    summary: "show which pods run with Lameduck, and why others do not",
    takes: ["namespace", "lameduckNamespace", ...connection, "json"],
    load: async (exit) => (await import("./status/command.ts")).statusCommand(exit),
  },
  report: {
    group: operating,
    summary: "show how the pods of a namespace ended",
    takes: ["namespace", ...connection, "json"],
    writes: ["html", "markdown"],
    load: async (exit) => (await import("./report/command.ts")).reportCommand(exit),
  },
  why: {
    group: operating,
    summary: "say why a pod is still there",
    takes: ["namespace", ...connection, "json"],
    load: async (exit) => (await import("./why/command.ts")).whyCommand(exit),
  },
  end: {
    group: operating,
    summary: "end the hold of a terminating pod now",
    takes: ["namespace", ...connection, "json"],
    load: async (exit) => (await import("./end/command.ts")).endCommand(exit),
  },
  uninstall: {
    group: operating,
    summary: "remove Lameduck",
    takes: ["lameduckNamespace", ...connection],
    load: async (exit) => (await import("./install/uninstall.ts")).uninstallCommand(exit),
  },
  inject: {
    group: preparing,
    summary: "add preStop hooks and longer grace periods",
    takes: ["json"],
    load: async (exit) => (await import("./inject/command.ts")).injectCommand(exit),
  },
  images: {
    group: measuring,
    summary: "list and remove the images that lab and audit have unpacked",
    takes: ["json"],
    load: async () => (await import("./images/command.ts")).imagesCommand(),
  },
  "init-binary": {
    group: preparing,
    summary: "copy the lameduck-init binary",
    writes: ["binary"],
    load: async () => (await import("./init-binary.ts")).initBinaryCommand(),
  },
  completion: {
    group: others,
    summary: "print a completion script for your shell",
    load: async () => (await import("./completion/command.ts")).completion(),
  },
  help: {
    group: others,
    summary: "explain a command, an error code or a cause of loss",
    load: async () => (await import("./help/command.ts")).help(),
  },
};

/** These look at all the others. */
const overviews: readonly string[] = ["completion", "help"];

/** The options of all commands that a command takes. */
export const takenBy = (command: Command): Taken => listed[command.name()] ?? {};

/** @param name what stands first on the command line. @returns its command; all of them where it is not the name of a single one. */
export async function commandsFor(name: string | undefined, exit: Exit): Promise<readonly Command[]> {
  if (name === "--version" || name === "-V") return [];
  const only = name !== undefined && !overviews.includes(name) ? listed[name] : undefined;
  const wanted = only ? [only] : Object.values(listed);
  return Promise.all(
    wanted.map(async ({ group, summary, load }) => (await load(exit)).summary(summary).helpGroup(group)),
  );
}
