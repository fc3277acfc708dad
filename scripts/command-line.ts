import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";

/**
 * The command line of a developer's script: `--help` prints the script's own first comment and its options, and a mistake is one line, not a
 * stack trace. `script` is its `import.meta.url`.
 */
export function commandLine<T extends ParseArgsConfig>(
  script: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
    const options = optionsOf(config);
    process.stdout.write(`${firstComment(script)}\n`);
    if (options.length > 0) process.stdout.write(`\nOptions: ${options.join(" ")}\n`);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}; --help tells more\n`);
    process.exit(2);
  }
}

function firstComment(script: string): string {
  const [, comment = ""] = /\/\*\*\n([^]*?)\n *\*\//.exec(readFileSync(new URL(script), "utf8")) ?? [];
  return comment.replace(/^ *\* ?/gm, "");
}

function optionsOf({ options = {} }: ParseArgsConfig): string[] {
  return Object.entries(options).map(([name, option]) => {
    const value = option.default === undefined ? "..." : String(option.default);
    return option.type === "boolean" ? `[--${name}]` : `[--${name} ${value}]`;
  });
}
