import type { Command } from "commander";

/** Remembers the exit code that a command ends with. */
type Exit = (code: number) => number;

/** The commands in the order of the help. Each is loaded only where it is wanted: the lab alone is hundreds of files. */
const loaders: Readonly<Record<string, (exit: Exit) => Promise<Command>>> = {
  lab: async (exit) => (await import("./lab/command.ts")).labCommand(exit),
  rollout: async (exit) => (await import("./rollout/command.ts")).rolloutCommand(exit),
  simulate: async () => (await import("./simulate/simulate.ts")).simulate(),
  advise: async () => (await import("./simulate/advise.ts")).advise(),
  explain: async () => (await import("./explain/command.ts")).explain(),
  audit: async (exit) => (await import("./audit/command.ts")).auditCommand(exit),
  install: async (exit) => (await import("./install/install.ts")).installCommand(exit),
  status: async (exit) => (await import("./install/status.ts")).statusCommand(exit),
  report: async (exit) => (await import("./report/command.ts")).reportCommand(exit),
  uninstall: async (exit) => (await import("./install/uninstall.ts")).uninstallCommand(exit),
  inject: async (exit) => (await import("./inject/command.ts")).injectCommand(exit),
  "init-binary": async () => (await import("./init-binary/command.ts")).initBinaryCommand(),
  completion: async () => (await import("./completion/command.ts")).completion(),
  // A name that init-binary had; main hides it.
  init: async () => (await import("./init-binary/command.ts")).renamedInit(),
  help: async () => (await import("./help/command.ts")).help(),
};

/** These look at all the others. */
const overviews: readonly string[] = ["completion", "help"];

/** @param name what stands first on the command line. @returns its command; all of them where it is not the name of a single one. */
export async function commandsFor(name: string | undefined, exit: Exit): Promise<readonly Command[]> {
  if (name === "--version" || name === "-V") return [];
  const only = name !== undefined && !overviews.includes(name) ? loaders[name] : undefined;
  if (only) return [await only(exit)];
  return Promise.all(Object.values(loaders).map((load) => load(exit)));
}
