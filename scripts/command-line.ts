import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";

/**
 * The command line of a developer's script. `--help` prints the script's first comment, and each option with its comment. A mistake is one line and
 * no stack trace.
 * @param script its `import.meta.url`.
 */
export function commandLine<T extends ParseArgsConfig>(
  script: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
    const source = readFileSync(new URL(script), "utf8");
    const options = optionsOf(config, source);
    process.stdout.write(`${firstComment(source)}\n`);
    if (options.length > 0) process.stdout.write(`\nOptions (default):\n${options.join("\n")}\n`);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}; --help tells more\n`);
    process.exit(2);
  }
}

function firstComment(source: string): string {
  const [, comment = ""] = /\/\*\*\n([^]*?)\n *\*\//.exec(source) ?? [];
  return comment.replace(/^ *\* ?/gm, "");
}

/** A line for each option, with the comment that stands before it in the script. */
function optionsOf({ options = {} }: ParseArgsConfig, source: string): string[] {
  return Object.entries(options).map(([name, option]) => {
    const value =
      option.type === "boolean" ? "" : option.default === undefined ? " ..." : ` (${String(option.default)})`;
    const before = new RegExp(`((?:\\n *// .*)+)\\n *"?${name}"?: \\{`).exec(source)?.[1] ?? "";
    const about = before.replaceAll(/\n *\/\/ /g, " ").trim();
    return `  --${name}${value}`.padEnd(about === "" ? 0 : 34) + (about === "" ? "" : ` ${about}`);
  });
}
