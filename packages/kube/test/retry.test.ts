import assert from "node:assert/strict";
import test from "node:test";
import { ApiFailure, KubernetesError, retry, startupRefusalsMs, transientOrStarting } from "@lameduck/kube";

const unreachable = new KubernetesError("LAMEDUCK_API_UNREACHABLE", "api", "connection refused");
const refusal = (status: number): ApiFailure => new ApiFailure("GET /x", status, "", "no");

/** Fails with one error after another on a clock that each attempt moves on. */
function after(t: test.TestContext, errors: readonly Error[], apart: number): Promise<string> {
  let now = 0;
  t.mock.method(Date, "now", () => now);
  const left = [...errors];
  return retry(
    () => {
      now += apart;
      const error = left.shift();
      return error ? Promise.reject(error) : Promise.resolve("done");
    },
    { pauseMs: 0 },
  );
}

test("a request waits for a server that refuses, goes away for long and refuses again while it starts", async (t) => {
  assert.equal(
    await after(t, [refusal(503), ...Array.from({ length: 30 }, () => unreachable), refusal(403)], 1_000),
    "done",
  );
});

test("a request that is refused for long fails", async (t) => {
  const long = Array.from({ length: startupRefusalsMs / 1_000 + 5 }, () => refusal(403));
  await assert.rejects(after(t, long, 1_000), { status: 403 });
});

test("a request that is wrong is not repeated", () => {
  for (const status of [400, 404, 409, 422]) assert.equal(transientOrStarting(refusal(status), 0), false);
  for (const status of [401, 403, 429, 500, 503]) assert.equal(transientOrStarting(refusal(status), 0), true);
});
