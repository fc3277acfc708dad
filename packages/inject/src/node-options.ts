import { initVolumePath, registerFile, isMap } from "@lameduck/protocol";
import { textOf } from "./pod.ts";

/**
 * `--require` and `--import` of a file that is missing keep Node from starting; this one goes on without it. Node knows `--import` since
 * 18.18.
 */
export const loader = `--import=data:text/javascript,await(import('file://${initVolumePath}/${registerFile}').catch(()=>{}))`;

/** Characters of NODE_OPTIONS that are repeated in a patch. */
export const longestOptions = 4_096;

/** Characters as the policy's language counts them: some are two units of a text here. */
export function mayBeRepeated(options: string): boolean {
  return options.length <= 2 * longestOptions && Array.from(options).length <= longestOptions;
}

export interface NodeOptions {
  /** Where in `env` it stands; undefined: nowhere. */
  readonly at: number | undefined;
  readonly value: string;
}

/** What NODE_OPTIONS says already is kept. */
export function nodeOptionsFor(container: Readonly<Record<string, unknown>>): NodeOptions {
  const env: readonly unknown[] = Array.isArray(container["env"]) ? container["env"] : [];
  const at = env.findIndex((one) => isMap(one) && one["name"] === "NODE_OPTIONS");
  const known = env[at];
  if (!isMap(known)) return { at: undefined, value: loader };
  const before = textOf(known["value"]);
  return { at, value: before === "" ? loader : `${before} ${loader}` };
}
