import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import type { RequestRecord } from "@lameduck/accounting";
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
  it("the option --requests reads vegeta's JSON: all requests, what became of them, and the pods of the header", async () => {
    const { records, files } = await read(golden("vegeta.jsonl"));
    assert.equal(files[0]?.format, "vegeta");
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

  it("the option --requests finds the pod behind the address that a proxy named", async () => {
    const podAt = (address: string): string | undefined => (address === "198.18.1.7" ? "web-7" : undefined);
    const { records } = await read(golden("vegeta.jsonl"), { podAt });
    assert.equal(
      records.filter(({ pod, podKnownBy }) => pod === "web-7" && podKnownBy === "proxy").length,
      2,
    );
  });

  it("the option --requests believes a header such as x-pod-name, but a surer one first", async (t) => {
    const text = await readFile(golden("vegeta.jsonl"), "utf8");
    const { records } = await readText(
      t,
      text.replaceAll('"Connection"', '"X-Pod-Name":["web-9"],"Connection"'),
    );
    const pods = Object.groupBy(records, ({ pod }) => pod ?? "none");
    assert.deepEqual([pods["web-1"]?.length, pods["web-2"]?.length, pods["web-9"]?.length], [2, 2, 2]);
  });

  it("the option --requests names vegeta's command that converts its binary form", async () => {
    await assert.rejects(read(golden("vegeta.bin")), {
      code: "LAMEDUCK_REQUESTS_UNKNOWN_FORMAT",
      message: /is not a text file/,
      remedy: /vegeta encode/,
    });
  });
});

describe("files that k6 wrote", () => {
  it("the option --requests reads k6's JSON: all requests, what became of them, those never sent, and the pods of the tag", async () => {
    const { records, files } = await read(golden("k6.jsonl"));
    assert.equal(files[0]?.format, "k6");
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
  });

  it("the option --requests takes the beginning of a request of k6 from its end: answered, sent, or without a connection yet", async (t) => {
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

  it("the option --requests takes a 503 that k6's script expects for an answer", async (t) => {
    const text = await readFile(golden("k6.jsonl"), "utf8");
    const { records } = await readText(
      t,
      text.replaceAll('"expected_response":"false"', '"expected_response":"true"'),
    );
    assert.equal(records.filter(({ outcome }) => outcome === "bad-status").length, 0);
  });
});
