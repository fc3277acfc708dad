import assert from "node:assert/strict";
import {
  account,
  type Cause,
  type LostRequest,
  type RunRecording,
  type RequestRecord,
} from "../src/index.ts";
import { recording, traffic } from "./accounting-recording.ts";

export const meta = { description: "", seed: 1 };

export function only(record: RequestRecord, parts: Partial<RunRecording> = {}): LostRequest {
  const { lostRequests } = account(
    recording({ records: [...traffic(2_000, 9_900), record], ...parts }),
    meta,
  );
  assert.equal(lostRequests.length, 1);
  return lostRequests.at(0)!;
}

export function causeOf(record: RequestRecord, parts: Partial<RunRecording> = {}): Cause {
  return only(record, parts).cause;
}

/** A request on a connection that had been kept. */
export const pooled = { mode: "pooled", reused: true, connected: 3_000 } as const;
