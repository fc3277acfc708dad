import { arch, availableParallelism, platform, release, totalmem } from "node:os";
import type { Results } from "@lameduck/accounting";

/** Options whose values may be secrets; what stands before ":" or "=" is none. */
const secret = /^(?:-H|--header|--env|--body|--answer)$/;

/** Where and how a run went, for whoever reads its results later. */
export function ranOn(argv: readonly string[] = process.argv.slice(2)): NonNullable<Results["ranOn"]> {
  const gibibytes = (totalmem() / 2 ** 30).toFixed(0);
  return {
    command: ["lameduck", ...argv.map((word, i) => quoted(shown(word, argv[i - 1] ?? "")))].join(" "),
    machine: `${platform()} ${release()}, ${arch()}, ${availableParallelism()} processors, ${gibibytes} GiB`,
    node: process.version,
  };
}

function shown(word: string, before: string): string {
  const [, option = "", value = ""] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? [];
  if (secret.test(option)) return `${option}=${withoutSecret(value)}`;
  return secret.test(before) ? withoutSecret(word) : word;
}

function withoutSecret(value: string): string {
  const [name] = /^@?[\w-]+(?=[:=])/.exec(value) ?? [];
  return name === undefined ? "..." : `${name}...`;
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
