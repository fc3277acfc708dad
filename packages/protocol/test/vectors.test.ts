import assert from "node:assert/strict";
import test from "node:test";
import { withoutUndefined } from "@lameduck/drain/common";
import * as protocol from "../src/index.ts";
import { vectorsOf } from "./vectors.ts";

/** A refusal, or what was read, as a vector says it. */
function read(parse: () => object | string): unknown {
  try {
    const found = parse();
    return typeof found === "string" ? { refused: found } : withoutUndefined(found);
  } catch (error) {
    return { refused: (error as Error).message };
  }
}

function isRefused(found: unknown, problem: string, name: string): void {
  const { refused = JSON.stringify(found) } = found as { readonly refused?: string };
  assert.ok(refused.includes(problem), `${name}: ${refused}`);
}

test("an answer to a pod is read as the vectors say, and written as they are", () => {
  for (const { name, text, refused, fields, written } of vectorsOf("pod-answers")) {
    const found = read(() => protocol.parsePodAnswer(text));
    if (refused !== undefined) isRefused(found, refused, name);
    else assert.deepEqual(found, fields, name);
    if (written && fields) assert.equal(protocol.writePodAnswer(fields), text, name);
  }
});

test("a pod's report is read as the vectors say, and written as they are", () => {
  for (const { name, text, report, written } of vectorsOf("pod-reports")) {
    assert.deepEqual(protocol.parsePodReport(text), report, name);
    if (written) assert.equal(protocol.writePodReport(report), text, name);
  }
});

test("a consumer's report is read as the vectors say, and written as they are", () => {
  for (const { name, text, refused, version, report, written } of vectorsOf("consumer-reports")) {
    const found = read(() => protocol.parseConsumerReport(text));
    if (refused !== undefined) isRefused(found, refused, name);
    else assert.deepEqual(found, report ?? { version }, name);
    if (written && report) assert.equal(protocol.writeConsumerReport(report), text, name);
  }
});

test("an answer to a consumer is read as the vectors say, and written as they are", () => {
  for (const { name, text, refused, answer, written } of vectorsOf("coordinator-answers")) {
    const found = read(() => protocol.parseCoordinatorAnswer(text));
    if (refused !== undefined) isRefused(found, refused, name);
    else assert.deepEqual(found, answer, name);
    if (written && answer) assert.equal(protocol.writeCoordinatorAnswer(answer), text, name);
  }
});
