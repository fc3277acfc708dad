/** A release of the cluster, and a sender that turns out to be a prober after it has connected. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "@lameduck/drain";
import { withoutCompiler } from "./compiled.ts";
import { answers, linesOf } from "./native-decision.ts";

type Connection = readonly [at: number, sender: string];

/** When and why it stops: "3900 acknowledged". The release is of 3 s, and the prober is known at 3.8 s. */
function decided(connections: readonly Connection[]): string {
  const before = Array.from({ length: 60 }, (_, second): Connection => [second * 1_000 - 60_000, "b"]);
  const seenOf = ([at, sender]: Connection): Observation => ({
    type: "arrival",
    at,
    sender,
    kind: "connection",
  });
  const observations: Observation[] = [
    { type: "watching", at: -60_000 },
    ...before.map(seenOf),
    { type: "termination", at: 0 },
    { type: "released", at: 3_000 },
    ...connections.map(seenOf),
  ];
  const text = linesOf({ config: { lossBudget: 1e-9 }, observations });
  return answers(text.replace(/end\n$/, "forget prober 3800\nend\n"))[0] ?? "";
}

test("a connection of a prober after a release overrules nothing", { skip: withoutCompiler }, () => {
  assert.match(decided([[3_500, "prober"]]), /^3[89]\d\d acknowledged /);
});

const orders: Readonly<Record<string, readonly string[]>> = {
  "before the prober's": ["b", "prober"],
  "after the prober's": ["prober", "b"],
  "between the prober's": ["prober", "b", "prober"],
};

for (const [when, senders] of Object.entries(orders))
  test(`a connection that overrules a release ${when} is counted on`, { skip: withoutCompiler }, () => {
    const connections = senders.map((sender, at): Connection => [3_400 + 100 * at, sender]);
    assert.match(decided(connections), / (?:quiet|cap) /);
  });
