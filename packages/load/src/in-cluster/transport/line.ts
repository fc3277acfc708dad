import { crc32 } from "node:zlib";
import type { Tried } from "../../worked.ts";
import type { PackedRecords } from "./pack.ts";

/** What a pod of the load says, one line of its log each. Times are milliseconds since 1970 by the pod's clock. */
export type PodMessage = { readonly at: number } &
  /** `epoch`: what the times of its records count from. */
  (
    | {
        readonly type: "hello";
        readonly index: number;
        readonly epoch: number;
        readonly addresses: Readonly<Record<string, string>>;
      }
    | { readonly type: "begun" }
    | {
        readonly type: "progress";
        readonly due: number;
        readonly finished: number;
        readonly lost: number;
        readonly notSent: number;
        readonly trials: readonly Tried[];
      }
    | { readonly type: "records"; readonly route: number; readonly packed: PackedRecords }
    /** SIGTERM came. */
    | { readonly type: "stopping" }
    /** Everything has been said; `due` is the number of requests of each route. */
    | { readonly type: "end"; readonly due: readonly number[]; readonly because: "asked" | "log too slow" }
    | { readonly type: "failed"; readonly url: string; readonly problem: string }
  );

interface PodLine {
  /** From 0, without gaps. */
  readonly sequence: number;
  readonly message: PodMessage;
}

/** First word of every line: others (Node's warnings, a sidecar's) are left alone. */
const mark = "lameduck-load-1";

/** containerd and CRI-O cut lines of more than 16 KiB in pieces, each of which may come alone. */
export const longestLineBytes = 15_000;

export function writeLine(sequence: number, message: PodMessage): string {
  const body = `${sequence} ${JSON.stringify(message)}`;
  return `${mark} ${crc32(body).toString(16)} ${body}\n`;
}

/** undefined for lines that are not ours, or not whole. */
export function readLine(line: string): PodLine | undefined {
  const [, sum, body, sequence, json] =
    /^lameduck-load-1 ([0-9a-f]{1,8}) ((\d{1,15}) (\{.*\}))$/.exec(line) ?? [];
  if (body === undefined || json === undefined || crc32(body).toString(16) !== sum) return undefined;
  return { sequence: Number(sequence), message: JSON.parse(json) as PodMessage };
}
