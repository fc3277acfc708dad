/** The operator's processes: `node lameduck-operator.cjs webhook`, and others. docs/operator.md describes them. */
import { LameduckError } from "@lameduck/drain/common";
import { KubernetesError } from "@lameduck/kube";
import { badFlag } from "./process/flag-values.ts";
import type { Subcommand } from "./process/subcommand.ts";

const exitCodes = { usage: 2, internal: 3, environment: 4 } as const;

/** Each is loaded only where it is asked for: a watcher on each node must not carry what the webhook needs. */
const subcommands: Readonly<Record<string, { readonly does: string; load(): Promise<Subcommand> }>> = {
  webhook: {
    does: "answers the API server when pods are made, and injects the drain",
    load: async () => (await import("./process/webhook.ts")).webhook,
  },
  coordinator: {
    does: "tells terminating pods when all senders have let go of them",
    load: async () => (await import("./coordinator/command.ts")).coordinator,
  },
  watcher: {
    does: "tells the coordinator how far the proxy of its node has let go of terminating pods",
    load: async () => (await import("./watcher/command.ts")).watcher,
  },
};

const overview = `lameduck-operator COMMAND [flags]

${Object.entries(subcommands)
  .map(([name, { does }]) => `  ${name.padEnd(14)}${does}`)
  .join("\n")}

lameduck-operator COMMAND --help lists the flags of each; docs/operator.md describes them.
`;

async function main([name = "", ...args]: readonly string[]): Promise<void> {
  if (["--help", "-h", "help"].includes(name)) {
    process.stdout.write(overview);
    return;
  }
  const found = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (!found) throw badFlag("command", `"${name}" is none; there are ${Object.keys(subcommands).join(", ")}`);
  await (await found.load()).run(args);
}

function fail(error: unknown): void {
  const isTold = error instanceof LameduckError;
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${isTold ? `${error.code} ${error.message}\n  ${error.remedy}` : words}\n`);
  const isOutside =
    error instanceof KubernetesError || (error as NodeJS.ErrnoException | undefined)?.syscall === "listen";
  process.exit(isOutside ? exitCodes.environment : isTold ? exitCodes.usage : exitCodes.internal);
}

// No `await` here: the file is bundled as CommonJS.
main(process.argv.slice(2)).catch(fail);
