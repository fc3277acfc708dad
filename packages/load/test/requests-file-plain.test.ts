import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { parseZone, readDuration, readTime } from "../src/requests-file/time.ts";
import { readText } from "./requests-file-helpers.ts";

describe("the plain form", () => {
  it("reads CSV with its columns in any order, quotes, zones and units", async (t) => {
    const { records } = await readText(
      t,
      `pod,latency,status,time,error,ignored,connection\r\n` +
        `web-1,12ms,200,2026-01-31T14:00:00.5+02:00,,"a, b",reused\r\n` +
        `,1.5s,,1769860801250,"dial tcp: ""x"",\r\nconnection refused",,new\r\n`,
    );
    const noon = Date.UTC(2026, 0, 31, 12);
    assert.deepEqual(records, [
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
        sender: "load",
        reused: false,
        outcome: "refused",
        error: "ECONNREFUSED",
        received: 0,
      },
    ]);
  });

  it("reads JSON lines", async (t) => {
    const { records } = await readText(
      t,
      '{"time":"2026-01-31T12:00:00.000Z","status":200,"latency":3.5,"url":"http://shop.example/a"}\n\n{"time":1769860801.25,"error":"ECONNRESET"}\n',
    );
    assert.deepEqual(
      records.map(({ intended, outcome, sender, finished = 0 }) => [
        intended,
        finished - intended,
        outcome,
        sender,
      ]),
      [
        [1769860800000, 3.5, "ok", "shop.example"],
        [1769860801250, 0, "reset-before-response", "load"],
      ],
    );
  });
});

describe("times", () => {
  const at = (text: string, zone?: string): number =>
    readTime(text, 1, zone === undefined ? undefined : parseZone(zone, "z")).at;

  it("tells seconds, milliseconds, micro- and nanoseconds apart by their size", () => {
    fc.assert(
      fc.property(fc.integer({ min: Date.UTC(1995, 0), max: Date.UTC(2150, 0) }), (milliseconds) => {
        const seconds = Math.floor(milliseconds / 1_000);
        assert.deepEqual(readTime(String(seconds), 1, undefined), { at: seconds * 1_000, resolution: 1_000 });
        assert.equal(at(String(milliseconds)), milliseconds);
        assert.equal(at(`${milliseconds}000`), milliseconds);
        assert.ok(Math.abs(at(`${milliseconds}000000`) - milliseconds) < 0.001);
      }),
    );
  });

  it("reads what Date writes, in every zone, and keeps nanoseconds", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(Date.UTC(1995, 0)), max: new Date(Date.UTC(2150, 0)), noInvalidDate: true }),
        fc.integer({ min: -14 * 60, max: 14 * 60 }),
        (date, minutes) => {
          const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
          const sign = minutes < 0 ? "-" : "+";
          const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
          const offset = `${sign}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
          assert.equal(at(`${local}${offset}`), date.getTime());
          assert.equal(at(local.replace("T", " "), offset), date.getTime());
        },
      ),
    );
    assert.ok(
      Math.abs(at("2026-01-31T12:00:00.123456789Z") - Date.UTC(2026, 0, 31, 12) - 123.456789) < 0.001,
    );
  });

  it("knows named zones and their summer times", () => {
    assert.equal(at("2026-01-31T12:00:00", "Europe/Berlin"), Date.UTC(2026, 0, 31, 11));
    assert.equal(at("2026-07-31T12:00:00", "Europe/Berlin"), Date.UTC(2026, 6, 31, 10));
    assert.equal(at("2026-03-29T01:59:59", "Europe/Berlin"), Date.UTC(2026, 2, 29, 0, 59, 59));
    assert.equal(at("2026-03-29T03:00:00", "Europe/Berlin"), Date.UTC(2026, 2, 29, 1));
    assert.throws(() => parseZone("Mars/Olympus", "--requests-zone"), { code: "LAMEDUCK_REQUESTS_BAD_ZONE" });
  });

  it("reads durations as Go writes them, and plain milliseconds", () => {
    assert.deepEqual(
      ["1m2.5s", "300µs", "12.5", "1e3", "2h"].map((text) => readDuration(text, 1)),
      [62_500, 0.3, 12.5, 1_000, 7_200_000],
    );
  });
});
