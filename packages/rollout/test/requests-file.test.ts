import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, it } from "node:test";
import { createGzip, gzipSync } from "node:zlib";
import * as fc from "fast-check";

import type { RequestRecord } from "../src/model/request.ts";
import { split } from "../src/kubernetes/requests-file/csv.ts";
import { fateOf } from "../src/kubernetes/requests-file/failure.ts";
import { parseZone, readDuration, readTime } from "../src/kubernetes/requests-file/time.ts";
import { fuzz } from "./requests-file-fuzz.ts";
import { golden, read, readText } from "./requests-file-helpers.ts";

/** "refused ECONNREFUSED": what became of the requests, without repetition. */
const fates = (records: readonly RequestRecord[]): string[] =>
  [...new Set(records.map(({ outcome, error = "", status = "" }) => `${outcome} ${error}${status}`))].sort();

const served = ["bad-status 503", "ok 200", "ok 404"];
const lost = [
  "refused ECONNREFUSED",
  "reset-before-response ECONNRESET",
  "reset-before-response EOF",
  "timeout ETIMEDOUT",
  "truncated ECONNRESET",
  "truncated EOF",
];

describe("files that vegeta wrote", () => {
  for (const [name, format] of [
    ["vegeta.jsonl", "vegeta-json"],
    ["vegeta.csv", "vegeta-csv"],
  ] as const)
    it(`reads ${name}: all requests, what became of them, and the pods of the header`, async () => {
      const { records, files } = await read(golden(name));
      assert.equal(files[0]?.format, format);
      assert.equal(records.length, 20);
      assert.deepEqual(fates(records), [...served, ...lost].sort());
      assert.deepEqual(
        records.map(({ intended }) => intended),
        records.map(({ intended }) => intended).toSorted((a, b) => a - b),
      );
      for (const { outcome, intended, finished = 0 } of records)
        assert.equal(finished - intended > 300, outcome === "timeout", outcome);
      const named = records
        .filter(({ podKnownBy }) => podKnownBy === "header")
        .map(({ pod, status }) => `${pod} ${status}`);
      assert.deepEqual(named.sort(), ["web-1 200", "web-1 200", "web-2 503", "web-2 503"]);
      assert.ok(records.every(({ outcome, received }) => outcome !== "truncated" || received === 9));
    });

  it("finds the pod behind the address that a proxy named", async () => {
    const podAt = (address: string): string | undefined => (address === "198.18.1.7" ? "web-7" : undefined);
    const { records } = await read(golden("vegeta.csv"), { podAt });
    assert.equal(
      records.filter(({ pod, podKnownBy }) => pod === "web-7" && podKnownBy === "proxy").length,
      2,
    );
  });

  it("believes a header such as x-pod-name, after the surer ones", async (t) => {
    const text = await readFile(golden("vegeta.jsonl"), "utf8");
    const { records } = await readText(
      t,
      text.replaceAll('"Connection"', '"X-Pod-Name":["web-9"],"Connection"'),
    );
    const pods = Object.groupBy(records, ({ pod }) => pod ?? "none");
    assert.deepEqual([pods["web-1"]?.length, pods["web-2"]?.length, pods["web-9"]?.length], [2, 2, 2]);
  });

  it("names the command for its binary form", async () => {
    await assert.rejects(read(golden("vegeta.bin")), {
      code: "LAMEDUCK_REQUESTS_UNKNOWN_FORMAT",
      message: /vegeta encode/,
    });
  });
});

describe("files that k6 wrote", () => {
  for (const [name, format, grain] of [
    ["k6.jsonl", "k6-json", 0],
    ["k6-milliseconds.csv.gz", "k6-csv", 1],
    ["k6-seconds.csv", "k6-csv", 1_000],
  ] as const)
    it(`reads ${name}: all requests, what became of them, those never sent, and the pods of the tag`, async () => {
      const { records, files, notes } = await read(golden(name));
      assert.equal(files[0]?.format, format);
      const sent = records.filter(({ outcome }) => outcome !== "not-sent");
      assert.deepEqual(fates(sent), [...served, ...lost].sort());
      assert.equal(files[0]?.dropped, records.length - sent.length);
      assert.ok(files[0].dropped > 0, "the golden run had too few virtual users");
      for (const { outcome, intended, finished = 0, sent: written = intended } of sent) {
        assert.ok(written >= intended && finished >= written, "in order");
        assert.equal(finished - intended > 300, outcome === "timeout", outcome);
      }
      assert.ok(sent.some(({ pod, podKnownBy }) => pod === "web-1" && podKnownBy === "header"));
      assert.ok(sent.some(({ reused }) => reused) && sent.some(({ mode }) => mode === "new"));
      assert.equal(files[0].grain > 1, grain > 1);
      assert.equal(
        notes.some((note) => note.includes("K6_CSV_TIME_FORMAT")),
        grain === 1_000,
      );
    });

  it("counts back from the end: answered, sent, and begun while there was no connection yet", async (t) => {
    const point = (metric: string, value: number): string =>
      `{"metric":"${metric}","type":"Point","data":{"time":"2026-01-31T12:00:01.5+00:00","value":${value},"tags":{"status":"200","url":"http://a/"}}}\n`;
    const text =
      point("http_reqs", 1) +
      point("http_req_duration", 120) +
      point("http_req_blocked", 30) +
      point("http_req_connecting", 29) +
      point("http_req_sending", 1) +
      point("http_req_waiting", 100) +
      point("http_req_receiving", 19) +
      point("http_req_failed", 0);
    const { records } = await readText(t, text);
    const end = Date.UTC(2026, 0, 31, 12, 0, 1, 500);
    assert.deepEqual(
      records.map(({ intended, sent, finished, mode }) => [intended, sent, finished, mode]),
      [[end - 150, end - 120, end, "new"]],
    );
  });

  it("takes a 503 that the script expects for an answer", async (t) => {
    const text = await readFile(golden("k6.jsonl"), "utf8");
    const { records } = await readText(
      t,
      text.replaceAll('"expected_response":"false"', '"expected_response":"true"'),
    );
    assert.equal(records.filter(({ outcome }) => outcome === "bad-status").length, 0);
    const { records: meant } = await readText(t, text, { meantStatuses: [503] });
    assert.equal(meant.filter(({ outcome }) => outcome === "bad-status").length, 0);
  });
});

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
        assert.deepEqual(readTime(String(seconds), 1, undefined), { at: seconds * 1_000, grain: 1_000 });
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

it("understands what other tools call a failure", () => {
  const cases: [string, string][] = [
    ['Get "http://a/": dial tcp 198.18.0.9:80: i/o timeout', "unreachable ETIMEDOUT"],
    ['Get "http://a/": dial tcp 198.18.0.9:80: connect: no route to host', "unreachable EHOSTUNREACH"],
    [
      'Get "http://a/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
      "timeout ETIMEDOUT",
    ],
    [
      'Get "http://a/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)',
      "unreachable ETIMEDOUT",
    ],
    [
      'Get "http://a/": dial tcp 198.18.0.9:80: connect: cannot assign requested address',
      "not-sent EADDRNOTAVAIL",
    ],
    ['Get "http://a/": dial tcp: lookup a: no such host', "unreachable ENOTFOUND"],
    ['Get "http://a/": http: server closed idle connection', "reset-before-response EOF"],
    ["dial: unknown errno 24 error with msg `too many open files`", "not-sent EMFILE"],
    [
      "http2: server sent GOAWAY and closed the connection; LastStreamID=3, ErrCode=NO_ERROR",
      "reset-before-response GOAWAY",
    ],
    ["write: broken pipe", "reset-before-response EPIPE"],
    ["socket hang up", "reset-before-response ECONNRESET"],
    ["x509: unknown authority", "wrong-body ERR_TLS"],
    ["flux capacitor empty", "wrong-body flux capacitor empty"],
  ];
  for (const [words, expected] of cases) {
    const { outcome, error = "" } = fateOf(words, 0);
    assert.equal(`${outcome} ${error}`, expected, words);
  }
});

it("splits what a CSV writer has quoted", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 6 }), (fields) => {
      const line = fields.map((field) => `"${field.replaceAll('"', '""')}"`).join(",");
      assert.deepEqual(split(line), fields);
    }),
  );
});

describe("mistakes", () => {
  const header = "time,status\n";
  const cases: [what: string, content: string | Uint8Array, code: string, message: RegExp][] = [
    ["nothing in it", "", "EMPTY", /file: holds no request/],
    ["only a header", header, "EMPTY", /holds no request/],
    [
      "a line that is no JSON",
      '{"time":1769860801,"status":200}\nhello\n{}\n',
      "BAD_LINE",
      /file:2: is not JSON/,
    ],
    [
      "a row too short",
      `${header}1769860801,200\n1769860802\n`,
      "BAD_LINE",
      /file:3: has 1 fields and not 2/,
    ],
    ["a status that is none", `${header}1769860801,OK\n`, "BAD_LINE", /file:2: "OK" is not a status/],
    ["a time that is none", `${header}yesterday,200\n`, "BAD_TIME", /file:2: "yesterday" is not a time/],
    ["a day that is none", `${header}2026-02-31T25:00:00Z,200\n`, "BAD_TIME", /is not a time/],
    ["no zone", `${header}2026-01-31 12:00:00,200\n`, "NO_ZONE", /file:2: .* names no time zone/],
    ["neither status nor error", `${header}1769860801,\n`, "BAD_LINE", /neither a status nor an error/],
    [
      "a quote that stays open",
      `${header}1769860801,"200\n${"1769860801,200\n".repeat(2_000)}`,
      "BAD_LINE",
      /file:2: a quote is opened/,
    ],
    ["k6's summary", '{"root_group":{},"metrics":{}}', "UNKNOWN_FORMAT", /--out json/],
    ["vegeta's report", '{"latencies":{},"status_codes":{}}', "UNKNOWN_FORMAT", /vegeta encode/],
    ["a JSON array", '[{"time":1}]', "UNKNOWN_FORMAT", /jq -c/],
    ["JSON over several lines", '{\n "time": 1\n}\n', "UNKNOWN_FORMAT", /jq -c/],
    [
      "a picture",
      Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
      "UNKNOWN_FORMAT",
      /not a text file/,
    ],
    ["a zip file", Buffer.from("504b030414000000", "hex"), "UNREADABLE", /unpack it first/],
    [
      "gzip that is damaged",
      Buffer.concat([gzipSync(header).subarray(0, 12), Buffer.from("damaged damaged")]),
      "UNREADABLE",
      /damaged gzip/,
    ],
  ];
  for (const [what, content, code, message] of cases)
    it(`names the line: ${what}`, async (t) => {
      await assert.rejects(readText(t, content), { code: `LAMEDUCK_REQUESTS_${code}`, message });
    });

  it("names a file that is not there, and a folder", async () => {
    await assert.rejects(read("/nowhere/at/all"), {
      code: "LAMEDUCK_REQUESTS_UNREADABLE",
      message: /no such file/,
    });
    await assert.rejects(read(tmpdir()), { code: "LAMEDUCK_REQUESTS_UNREADABLE", message: /is a folder/ });
  });

  it("leaves out a last line that was cut, of packed files, too", async (t) => {
    const text = await readFile(golden("vegeta.jsonl"), "utf8");
    const plain = await readText(t, text.slice(0, -40));
    assert.deepEqual([plain.records.length, plain.files[0]?.cut], [19, true]);
    const packed = gzipSync(text);
    const half = await readText(t, packed.subarray(0, Math.floor(packed.length / 2)));
    assert.ok(half.records.length > 0 && half.records.length < 20);
  });

  it("says by how much the file misses the time watched", async () => {
    const { records } = await read(golden("vegeta.jsonl"));
    const first = records[0]?.intended ?? 0;
    const hours = 3_600_000;
    await assert.rejects(
      read(golden("vegeta.jsonl"), { window: { from: first + 2 * hours, to: first + 3 * hours } }),
      {
        code: "LAMEDUCK_REQUESTS_OTHER_TIME",
        message: /2 h 0 min apart/,
      },
    );
    const shifted = await read(golden("vegeta.jsonl"), {
      window: { from: first + 2 * hours, to: first + 3 * hours },
      clockOffset: 2 * hours,
    });
    assert.equal(shifted.records.length, 20);
    const half = await read(golden("vegeta.jsonl"), { window: { from: first, to: first + 475 } });
    assert.deepEqual([half.records.length, half.files[0]?.outside], [10, 10]);
    assert.match(half.notes.join(), /10 requests before or after/);
    const around = await read(golden("vegeta.jsonl"), {
      window: { from: first - 8_000, to: first + 20_000 },
    });
    assert.match(around.notes.join(), /first request came 8.0 s after.*last request came 19.\d s before/);
  });

  it("says when there are more requests than it can hold", async () => {
    await assert.rejects(read(golden("vegeta.csv"), { limit: 5 }), {
      code: "LAMEDUCK_REQUESTS_TOO_MANY",
      message: /csv:6/,
    });
  });
});

it("reads UTF-16 with a byte order mark, as PowerShell writes it", async (t) => {
  const text = await readFile(golden("vegeta.csv"), "utf8");
  const { records } = await readText(
    t,
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]),
  );
  assert.equal(records.length, 20);
});

it("merges several files in the order of time, and renumbers", async () => {
  const { records, files } = await read([golden("k6.jsonl"), golden("vegeta.jsonl")]);
  assert.deepEqual(
    files.map(({ format }) => format),
    ["k6-json", "vegeta-json"],
  );
  assert.deepEqual(
    records.map(({ id }) => id),
    records.map((_, index) => index),
  );
});

it("reads a file of 200 MB in bounded memory", { timeout: 240_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lameduck-requests-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "k6.json.gz");
  const text = await readFile(golden("k6.jsonl"), "utf8");
  const times = Math.ceil(200e6 / text.length);
  await pipeline(Readable.from(repeat(text, times)), createGzip({ level: 1 }), createWriteStream(file));
  const from = Date.UTC(2000, 0);
  let most = 0;
  const before = process.memoryUsage().rss;
  const watching = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
  // All outside of the time watched: what is measured is the reading.
  await assert.rejects(read(file, { window: { from, to: from } }), {
    code: "LAMEDUCK_REQUESTS_OTHER_TIME",
  });
  clearInterval(watching);
  assert.ok(most - before < 150e6, `${Math.round((most - before) / 1e6)} MB`);
});

function* repeat(text: string, times: number): Generator<string> {
  for (let time = 0; time < times; time++) yield text;
}

it("never fails otherwise than by naming a line, whatever is in the file", () => {
  const { read: fine, refused } = fuzz(1, (runs) => runs === 4_000);
  assert.ok(fine > 500 && refused > 500, `${fine} read, ${refused} refused`);
});
