import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { vectorsOf } from "../../protocol/test/vectors.ts";
import { nativeProgram, withoutCompiler } from "./compiled.ts";

test("the init reads the answers of a coordinator as the vectors say", { skip: withoutCompiler }, () => {
  const vectors = vectorsOf("pod-answers");
  const input = vectors.map(({ text }) => `${text}\0`).join("");
  const lines = execFileSync(nativeProgram("status"), { input, encoding: "utf8" }).split("\n");
  for (const [at, { name, fields, refused = "" }] of vectors.entries()) {
    const [, version = "0"] = /^version (\d+)$/.exec(refused) ?? [];
    const {
      state,
      withdrawnMs,
      releasedMs = "-",
      consumers = "0/0",
      assumedMs = 0,
      behind = "",
      last = "",
    } = fields ?? {};
    const withdrawn = withdrawnMs === undefined ? "-" : "withdrawn";
    const told = `${state} ${withdrawn} ${releasedMs} ${consumers} ${fields?.endsHold ? "now" : "-"} ${fields?.mode ?? "-"} ${assumedMs}`;
    assert.equal(lines[at], fields ? `${told}\t${behind}\t${last}` : `refused ${version}`, name);
  }
});

test(
  "a state or a key with a stray byte is another word, and stray bytes in names are left out",
  { skip: withoutCompiler },
  () => {
    const stateOf = (line: string): string => {
      const input = `lameduck 1\n${line}\n\0`;
      return execFileSync(nativeProgram("status"), { input, encoding: "utf8" });
    };
    assert.match(stateOf("state: \t released \r"), /^released /);
    for (const line of [
      "state: released\u0001",
      "state\u0001: released",
      "state: rel\u0007eased",
      "state: réleased",
    ])
      assert.match(stateOf(line), /^unknown /, JSON.stringify(line));
    assert.match(stateOf("state: waiting\nbehind: no\u0007de"), /^waiting .*\tnode\t/);
  },
);
