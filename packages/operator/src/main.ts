/** The operator's processes: `node lameduck-operator.cjs webhook`, and others. docs/contributing/operator.md describes them. */
import { LameduckError } from "@lameduck/drain/common";
import { KubernetesError } from "@lameduck/kube";
import { badFlag, type Subcommand } from "@lameduck/program";

const exitCodes = { usage: 2, internal: 3, environment: 4 } as const;

/** Each is loaded only where it is asked for: a watcher on each node must not carry what the webhook needs. */
const subcommands: Readonly<Record<string, { readonly does: string; load(): Promise<Subcommand> }>> = {
  webhook: {
    does: "injects the hold into new pods of labelled namespaces, when the API server asks",
    load: async () => (await import("@lameduck/webhook/command")).webhook,
  },
  coordinator: {
    does: "collects what senders have applied, and tells terminating pods when all have stopped sending",
    load: async () => (await import("@lameduck/coordinator/command")).coordinator,
  },
  watcher: {
    does: "reports to the coordinator which changes a proxy has applied; one on each node",
    load: async () => (await import("@lameduck/watcher")).watcher,
  },
};

const overview = `lameduck-operator COMMAND [flags]

The processes of Lameduck in a cluster. \`lameduck install\` and the Helm chart run them.

${Object.entries(subcommands)
  .map(([name, { does }]) => `  ${name.padEnd(14)}${does}`)
  .join("\n")}

lameduck-operator COMMAND --help lists the flags of a command. Exit codes: 0 stopped, 2 wrong flag, 3 internal,
4 cluster or environment. The log is JSON lines on stderr. More: docs/contributing/operator.md
`;

async function main([name = "", ...args]: readonly string[]): Promise<void> {
  if (["--help", "-h", "help"].includes(name)) {
    process.stdout.write(overview);
    return;
  }
  const found = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (!found)
    throw badFlag("command", `"${name}" is unknown; the commands are ${Object.keys(subcommands).join(", ")}`);
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
