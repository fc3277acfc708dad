import assert from "node:assert/strict";
import { Agent, request as httpsRequest } from "node:https";
import { after, before, describe, it } from "node:test";
import type { ReviewHandler } from "../src/admission/review.ts";
import { AdmissionServer } from "../src/admission/server.ts";
import { listenLocally } from "./local-server.ts";

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly local: number;
}

describe("the server that answers admission reviews", () => {
  let server: AdmissionServer;
  let port = 0;
  let ca = "";
  let ready: string | undefined;
  let judge: ReviewHandler = () => ({ allowed: true });
  const faults: unknown[] = [];
  const outcomes: string[] = [];
  let agent: Agent;

  before(async () => {
    server = new AdmissionServer({
      mutate: (request, gone) => judge(request, gone),
      validate: () => ({ allowed: false, message: "spec.capSeconds: no\u001b[31m" }),
      notReady: () => ready,
      onFault: (error) => faults.push(error),
      onReview: (_path, outcome) => outcomes.push(outcome),
    });
    ({ port, ca } = await listenLocally(server));
    agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  });
  after(async () => {
    agent.destroy();
    await server.close();
  });

  function ask(
    path: string,
    {
      method = "POST",
      type = "application/json",
      body = "",
    }: { method?: string; type?: string; body?: string } = {},
  ): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const headers = { "content-type": type, "content-length": Buffer.byteLength(body) };
      const request = httpsRequest(
        { host: "127.0.0.1", servername: "localhost", port, path, method, headers, agent, ca },
        (response) => {
          let text = "";
          const local = response.socket.localPort ?? 0;
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text, local }));
        },
      );
      request.on("error", reject);
      request.end(body);
    });
  }

  const review = (request: object, apiVersion = "admission.k8s.io/v1"): string =>
    JSON.stringify({ apiVersion, kind: "AdmissionReview", request });

  interface Whole {
    apiVersion: string;
    kind: string;
    response: {
      uid: string;
      allowed: boolean;
      patch?: string;
      patchType?: string;
      warnings?: string[];
      status?: { code: number; message: string };
    };
  }
  const whole = ({ text }: Answered): Whole => JSON.parse(text) as Whole;

  it("the admission server answers with a JSON patch, in the version that asked, on one connection", async () => {
    judge = () => ({
      allowed: true,
      patch: [{ op: "add", path: "/spec/x", value: "ü" }],
      warnings: ["lameduck: a"],
    });
    const answers = [
      await ask("/mutate?timeout=2s", { body: review({ uid: "u1" }) }),
      await ask("/mutate?timeout=2s", { body: review({ uid: "u2" }, "admission.k8s.io/v1beta1") }),
    ];
    const [one, two] = answers.map(whole);
    assert.equal(one?.response.uid, "u1");
    assert.equal(one.response.patchType, "JSONPatch");
    assert.deepEqual(JSON.parse(Buffer.from(one.response.patch ?? "", "base64").toString()), [
      { op: "add", path: "/spec/x", value: "ü" },
    ]);
    assert.deepEqual(one.response.warnings, ["lameduck: a"]);
    assert.equal(two?.apiVersion, "admission.k8s.io/v1beta1");
    assert.equal(new Set(answers.map(({ local }) => local)).size, 1, "kept alive");
  });

  it("the admission server admits whatever it cannot read, and says why", async () => {
    for (const [what, body] of Object.entries({
      "no JSON": "{",
      nothing: "",
      null: "null",
      "a list": "[]",
      "no request": review({}),
      "a number as uid": review({ uid: 1 }),
      "an unknown version": review({ uid: "u" }, "admission.k8s.io/v9"),
      "another kind": JSON.stringify({
        apiVersion: "admission.k8s.io/v1",
        kind: "Pod",
        request: { uid: "u" },
      }),
    })) {
      const answer = whole(await ask("/mutate", { body }));
      assert.equal(answer.kind, "AdmissionReview", what);
      assert.equal(answer.response.allowed, true, what);
      assert.match(answer.response.warnings?.[0] ?? "", /^lameduck: admitted as it is: /, what);
    }
  });

  it("the admission server answers wrong methods, types and sizes, and goes on answering", async () => {
    const cases: [number, Parameters<typeof ask>[1]][] = [
      [405, { method: "GET" }],
      [405, { method: "PUT", body: review({ uid: "u" }) }],
      [415, { type: "text/plain", body: review({ uid: "u" }) }],
      [413, { body: " ".repeat(9 * 1024 * 1024) }],
    ];
    for (const [status, options] of cases) {
      const answer = await ask("/mutate", options).catch((error: NodeJS.ErrnoException) => error);
      // Who sends far too much may be cut off before it reads.
      if (answer instanceof Error) assert.equal(status, 413, answer.message);
      else {
        assert.equal(answer.status, status);
        assert.equal(whole(answer).response.allowed, true);
      }
    }
    assert.equal((await ask("/mutate", { body: review({ uid: "u" }) })).status, 200);
    assert.equal(
      (await ask("/mutate", { type: "application/json; charset=utf-8", body: review({ uid: "u" }) })).status,
      200,
    );
  });

  it("the admission server admits a pod when a judge throws", async () => {
    judge = () => {
      throw new Error("a mistake of ours");
    };
    const answer = whole(await ask("/mutate", { body: review({ uid: "u" }) }));
    assert.equal(answer.response.allowed, true);
    assert.match(answer.response.warnings?.[0] ?? "", /something is wrong inside: a mistake of ours/);
    assert.equal(faults.length, 1);
    assert.equal(outcomes.at(-1), "fault");
  });

  it("the admission server rejects with a message that no terminal obeys", async () => {
    const { response } = whole(await ask("/validate", { body: review({ uid: "u" }) }));
    assert.deepEqual(response, {
      uid: "u",
      allowed: false,
      status: { code: 422, reason: "Invalid", message: "spec.capSeconds: no\\u001b[31m" },
    });
  });

  it("the admission server shortens warnings, and sends ten at most", async () => {
    judge = () => ({ allowed: true, warnings: Array.from({ length: 40 }, () => "w".repeat(1_000)) });
    const { response } = whole(await ask("/mutate", { body: review({ uid: "u" }) }));
    assert.deepEqual([response.warnings?.length, response.warnings?.[0]?.length], [10, 256]);
  });

  it("the admission server tells the kubelet whether it is ready, and what it waits for", async () => {
    ready = "not read yet: services";
    const waiting = await ask("/readyz", { method: "GET" });
    assert.deepEqual([waiting.status, waiting.text], [503, "not read yet: services\n"]);
    assert.equal((await ask("/livez", { method: "GET" })).status, 200);
    ready = undefined;
    assert.equal((await ask("/readyz", { method: "GET" })).status, 200);
    assert.equal((await ask("/elsewhere", { method: "GET" })).status, 404);
  });
});
