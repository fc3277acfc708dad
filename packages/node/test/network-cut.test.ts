import assert from "node:assert/strict";
import { test } from "node:test";
import { cutText } from "../src/hold/network-cut.ts";
import { acknowledgingIn } from "../src/proc.ts";

/** A row as the kernel writes it: of a connection to port 8080, with so much in its queue, sent again so often, once more in so many ticks. */
function row(queue: number, times: number, next: number, state = "01", port = "1F90"): string {
  const hex = (value: number): string => value.toString(16).toUpperCase().padStart(8, "0");
  const timer = times > 0 ? "01" : "00";
  return `   1: 0100007F:${port} 0200007F:9C40 ${state} ${hex(queue)}:00000000 ${timer}:${hex(next)} ${hex(times)}  1000        0 4242 1 0000000000000000 20 4 30 10 -1\n`;
}

const stuck = row(200, 3, 60); // 1.4 s after it was first sent, and 1.0 s after that: 0.6 s before the next time.
const idle = row(0, 0, 0);
const cases: readonly (readonly [string, string, number | undefined, boolean])[] = [
  ["two connections acknowledge nothing, and nothing came since", stuck + stuck + idle, 2_500, true],
  ["the only connection acknowledges nothing", stuck, 2_500, true],
  ["nothing ever came", stuck + stuck, undefined, true],
  ["connections that are being closed acknowledge nothing", row(200, 3, 60, "04").repeat(2), 3_000, true],
  ["the latest answer is new, and as little acknowledged", stuck + row(200, 2, 60), 900, true],
  ["one of several connections acknowledges nothing", stuck + idle, 2_500, false],
  ["others were heard since", stuck + stuck + idle, 1_000, false],
  ["another answer is on its way", stuck + stuck + row(200, 0, 0), 2_500, false],
  ["answers were sent again once", row(200, 1, 10).repeat(2), 2_500, false],
  ["all is idle", idle + idle, 9_000, false],
  ["those are connections of another port", row(200, 3, 60, "01", "0050").repeat(2), 2_500, false],
  ["nothing can be seen", "", 9_000, false],
];

for (const [what, table, silent, isCut] of cases)
  test(`a network ${isCut ? "was" : "was not"} seen to be cut where ${what}`, () => {
    const text = cutText(acknowledgingIn(table, new Set([8080])), silent);
    assert.equal(text !== undefined, isCut, text);
    if (isCut) assert.match(text ?? "", /^the network was cut: \d of \d connections acknowledge nothing$/);
  });
