import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, it } from "node:test";
import { createGzip, gzipSync } from "node:zlib";
import { classify } from "../src/requests-file/failure.ts";
import { fuzz } from "./requests-file-fuzz.ts";
import { golden, read, readText } from "./requests-file-helpers.ts";

it("the option --requests understands what other tools call a failure", () => {
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
    const { outcome, error = "" } = classify(words, 0);
    assert.equal(`${outcome} ${error}`, expected, words);
  }
});

describe("mistakes", () => {
  const good = '{"time":"2026-01-31T12:00:00.5Z","status":200}\n';
  const withTime = (time: unknown): string => `${JSON.stringify({ time, status: 200 })}\n`;
  const withMore = (more: object): string =>
    good + JSON.stringify({ time: "2026-01-31T12:00:00.5Z", ...more });
  const none = /file:1: is no line of k6, of vegeta, or of Lameduck's own form$/;
  const cases: [what: string, content: string | Uint8Array, code: string, message: RegExp][] = [
    ["nothing in it", "", "EMPTY", /file: holds no request/],
    ["a line that is no JSON", `${good}hello\n{}\n`, "BAD_LINE", /file:2: is not JSON/],
    ["a line that is an array", `${good}[]\n{}\n`, "BAD_LINE", /file:2: is not a JSON object/],
    [
      "a status that is a text",
      withMore({ status: "200" }) + "\n",
      "BAD_LINE",
      /file:2: ""200"" is not a status/,
    ],
    ["a status that is none", withMore({ status: 20 }) + "\n", "BAD_LINE", /file:2: "20" is not a status/],
    [
      "a key that is misspelt",
      withMore({ status: 200, latencyms: 3 }) + "\n",
      "BAD_LINE",
      /file:2: "latencyms" is not one of time, /,
    ],
    [
      "a latency with a unit",
      withMore({ status: 200, latency: "3ms" }) + "\n",
      "BAD_LINE",
      /file:2: latency is not a number/,
    ],
    [
      "another connection",
      withMore({ status: 200, connection: "old" }) + "\n",
      "BAD_LINE",
      /file:2: "old" is neither/,
    ],
    [
      "neither status nor error",
      withMore({ status: 0 }) + "\n",
      "BAD_LINE",
      /file:2: has neither a status nor an error/,
    ],
    ["a time that is none", withTime("yesterday"), "BAD_TIME", /file:1: "yesterday" is not a time/],
    [
      "a time that is a number",
      withTime(1_769_860_801),
      "BAD_TIME",
      /"1769860801" is not a time with its zone/,
    ],
    ["a day that is none", withTime("2026-02-31T25:00:00Z"), "BAD_TIME", /is not a time/],
    ["no zone", withTime("2026-01-31T12:00:00.5"), "BAD_TIME", /file:1: .* is not a time with its zone/],
    ["CSV of k6", "metric_name,timestamp,metric_value\n", "UNKNOWN_FORMAT", none],
    ["CSV of vegeta", "1795274501193855300,0,585366,0,0,,,golden,0,GET,http://a/,\n", "UNKNOWN_FORMAT", none],
    ["CSV of another tool", "time,status\n1769860801,200\n", "UNKNOWN_FORMAT", none],
    ["k6's summary", '{"root_group":{},"metrics":{}}', "UNKNOWN_FORMAT", none],
    ["vegeta's report", '{"latencies":{},"status_codes":{}}', "UNKNOWN_FORMAT", none],
    ["a JSON array", '[{"time":1}]', "UNKNOWN_FORMAT", none],
    ["JSON over several lines", '{\n "time": 1\n}\n', "UNKNOWN_FORMAT", none],
    ["UTF-16", Buffer.from(good, "utf16le"), "UNKNOWN_FORMAT", /file: is not a text file in UTF-8/],
    ["a zip file", Buffer.from("504b030414000000", "hex"), "UNKNOWN_FORMAT", /not a text file/],
    [
      "gzip that is damaged",
      Buffer.concat([gzipSync(good).subarray(0, 12), Buffer.from("damaged damaged")]),
      "UNREADABLE",
      /damaged gzip/,
    ],
  ];
  for (const [what, content, code, message] of cases)
    it(`the option --requests refuses a file with its place: ${what}`, async (t) => {
      await assert.rejects(readText(t, content), { code: `LAMEDUCK_REQUESTS_${code}`, message });
    });

  it("the option --requests names a file that is not there, and a folder", async () => {
    await assert.rejects(read("/nowhere/at/all"), {
      code: "LAMEDUCK_REQUESTS_UNREADABLE",
      message: /no such file/,
    });
    await assert.rejects(read(tmpdir()), {
      code: "LAMEDUCK_REQUESTS_UNREADABLE",
      message: /: illegal operation on a directory$/,
    });
  });

  it("the option --requests leaves out a last line that was cut, of packed files, too", async (t) => {
    const text = await readFile(golden("vegeta.jsonl"), "utf8");
    const plain = await readText(t, text.slice(0, -40));
    assert.deepEqual([plain.records.length, plain.files[0]?.cut], [19, true]);
    const packed = gzipSync(text);
    const half = await readText(t, packed.subarray(0, Math.floor(packed.length / 2)));
    assert.ok(half.records.length > 0 && half.records.length < 20);
  });

  it("the option --requests says by how much the file misses the time watched", async () => {
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
    const half = await read(golden("vegeta.jsonl"), { window: { from: first, to: first + 475 } });
    assert.deepEqual([half.records.length, half.files[0]?.outside], [10, 10]);
    assert.match(half.notes.join(), /10 requests before or after/);
    const around = await read(golden("vegeta.jsonl"), {
      window: { from: first - 8_000, to: first + 20_000 },
    });
    assert.match(around.notes.join(), /first request came 8.0 s after.*last request came 19.\d s before/);
  });

  it("the option --requests says when there are more requests than it can hold", async () => {
    await assert.rejects(read(golden("vegeta.jsonl"), { limit: 5 }), {
      code: "LAMEDUCK_REQUESTS_TOO_MANY",
      message: /jsonl:6/,
    });
  });
});

it("the option --requests merges several files in the order of time, and renumbers the requests", async () => {
  const { records, files } = await read([golden("k6.jsonl"), golden("vegeta.jsonl")]);
  assert.deepEqual(
    files.map(({ format }) => format),
    ["k6", "vegeta"],
  );
  assert.deepEqual(
    records.map(({ id }) => id),
    records.map((_, index) => index),
  );
});

it("the option --requests reads a file of 200 MB in bounded memory", { timeout: 240_000 }, async (t) => {
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

it("the option --requests fails by naming a line only, whatever is in the file", () => {
  const { read: fine, refused } = fuzz(1, (runs) => runs === 4_000);
  assert.ok(fine > 500 && refused > 500, `${fine} read, ${refused} refused`);
});
