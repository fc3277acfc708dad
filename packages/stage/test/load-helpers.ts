import type { TestContext } from "node:test";

import { until } from "../../load/test/servers.ts";

import {
  runClock,
  type RunClock,
  type Outcome,
  type RequestRecord,
  type SenderEvent,
} from "@lameduck/accounting";
import { propagationOf } from "@lameduck/load";
import { startFleet } from "../src/index.ts";
import type { FleetOptions, SenderFleet } from "../src/senders/fleet.ts";

/** A fleet under test, its events, and a way to wait for them. */
export interface Rig {
  readonly fleet: SenderFleet;
  readonly clock: RunClock;
  readonly events: SenderEvent[];
  /** Resolves when an event (past or future) matches. */
  readonly event: (matches: (event: SenderEvent) => boolean) => Promise<SenderEvent>;
}

export async function rig(t: TestContext, options: Partial<FleetOptions>): Promise<Rig> {
  const events: SenderEvent[] = [];
  const clock = runClock();
  const fleet = await startFleet({
    clock,
    senders: [{ name: "s", kind: "l4" }],
    propagation: propagationOf("instant"),
    load: { rate: 200 },
    seed: 1,
    onEvent: (event) => events.push(event),
    ...options,
  });
  t.after(() => fleet.close());
  return {
    fleet,
    clock,
    events,
    event: (matches) => until(() => events.find(matches), `an event; seen: ${JSON.stringify(events)}`),
  };
}

export function outcomes(records: readonly RequestRecord[]): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of records) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Without those that the generator was too late for. */
export function sentOf(records: readonly RequestRecord[]): readonly RequestRecord[] {
  return records.filter(({ outcome }) => outcome !== "not-sent");
}
