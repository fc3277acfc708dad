import assert from "node:assert/strict";
import test from "node:test";
import { learn, learntText, parseLearnt, priorHypotheses } from "@lameduck/drain";
import { inject } from "../src/inject/inject.ts";
import { defaultSettings } from "../src/policy/settings.ts";
import { LearntView } from "../src/records/learning/learnt-view.ts";
import { OperatorApi, until } from "./operator-api.ts";

const learnt = learn(
  undefined,
  priorHypotheses().map(({ weight }) => weight),
);
const entry = `2026-11-25 ${learntText(learnt)}`;

const pod = {
  metadata: {
    labels: { app: "web", "pod-template-hash": "7d9c" },
    ownerReferences: [{ kind: "ReplicaSet", name: "web-7d9c", uid: "u", controller: true }],
  },
  spec: { containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }] }] },
};

test("a new pod finds what the terminations of its workload have taught", async () => {
  await using api = await OperatorApi.start();
  const client = api.client();
  const problems: unknown[] = [];
  const view = new LearntView(client, "lameduck-system", (part, error) => problems.push(part, error));
  view.start();
  const put = (web: string): void => {
    const metadata = { namespace: "shop" };
    if (api.get("configmaps", "lameduck-learnt"))
      api.change("configmaps", "lameduck-learnt", { data: { "deployment.web": web } });
    else api.put("configmaps", "lameduck-learnt", { metadata, data: { "deployment.web": web } });
  };
  put(entry);
  await until(() => view.of("shop", pod) !== undefined, "what was learnt");
  assert.equal(parseLearnt(view.of("shop", pod))?.terminations, 1);
  assert.equal(view.of("other", pod), undefined, "of another namespace nothing");
  assert.equal(view.of("shop", { metadata: {} }), undefined);
  assert.equal(view.of("shop", null), undefined);
  put(entry.replace(String(learnt.version), "4711"));
  await until(() => view.of("shop", pod) === undefined, "another version");
  assert.deepEqual(problems, []);
  await view.stop();
  client.close();
});

test("it comes as a variable, and one that is set stays", () => {
  const facts = {
    lameduckVersion: "0.1.0",
    exposedBy: ["Service web"],
    version: { major: 1, minor: 36 },
    convergenceSeconds: undefined,
    architectures: undefined,
    learnt: learntText(learnt),
  };
  const { patch } = inject(pod, defaultSettings, facts);
  assert.match(JSON.stringify(patch), /"name":"LAMEDUCK_LEARNT","value":"\d+:1:/);
  const own = { name: "LAMEDUCK_LEARNT", value: "" };
  const [container] = pod.spec.containers;
  const kept = { ...pod, spec: { containers: [{ ...container, env: [own] }] } };
  assert.doesNotMatch(JSON.stringify(inject(kept, defaultSettings, facts).patch), /LAMEDUCK_LEARNT/);
});
