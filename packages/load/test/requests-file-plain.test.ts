import assert from "node:assert/strict";
import { it } from "node:test";
import * as fc from "fast-check";
import { asTime } from "../src/requests-file/parser.ts";
import { readText } from "./requests-file-helpers.ts";

it("the option --requests reads JSON lines of Lameduck's own form, with every key that it has", async (t) => {
  const { records, notes } = await readText(
    t,
    '{"time":"2026-01-31T14:00:00.5+02:00","status":200,"latency":12,"pod":"web-1","connection":"reused"}\n\n' +
      '{"time":"2026-01-31T12:00:01.25Z","url":"http://shop.example/a","error":"connection refused","latency":1500,"connection":"new"}\r\n' +
      '{"time":"2026-01-31T12:00:02Z","error":"ECONNRESET"}\n',
  );
  const noon = Date.UTC(2026, 0, 31, 12);
  assert.deepEqual(records.slice(0, 2), [
    {
      id: 0,
      intended: noon + 500,
      finished: noon + 512,
      mode: "pooled",
      kind: "quick",
      sender: "load",
      pod: "web-1",
      podKnownBy: "header",
      reused: true,
      outcome: "ok",
      status: 200,
      received: 0,
    },
    {
      id: 1,
      intended: noon + 1_250,
      finished: noon + 2_750,
      mode: "new",
      kind: "quick",
      sender: "shop.example",
      reused: false,
      outcome: "refused",
      error: "ECONNREFUSED",
      received: 0,
    },
  ]);
  // A time without a fraction lies somewhere in its second.
  assert.deepEqual([records[2]?.intended, records[2]?.outcome], [noon + 2_500, "reset-before-response"]);
  assert.match(notes.join(), /times are known to 1 s only/);
});

it("the option --requests reads the times that Date writes, in every zone, and keeps nanoseconds", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(Date.UTC(1995, 0)), max: new Date(Date.UTC(2150, 0)), noInvalidDate: true }),
      fc.integer({ min: -14 * 60, max: 14 * 60 }),
      (date, minutes) => {
        const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
        const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
        const offset = `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
        assert.equal(asTime(`${local}${offset}`, 1), date.getTime());
      },
    ),
  );
  const nanoseconds = asTime("2026-01-31T12:00:00.123456789Z", 1) - Date.UTC(2026, 0, 31, 12);
  assert.ok(Math.abs(nanoseconds - 123.456789) < 0.001);
});
