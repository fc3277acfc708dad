import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { parseConfig } from "@lameduck/drain";
import { vectorsOf } from "../../protocol/test/vectors.ts";
import { Coordinator } from "../src/coordinator/coordinator.ts";
import { Evidence } from "../src/hold/evidence.ts";
import { Coordination } from "./coordination.ts";

const clock = { now: () => performance.now() };

test("the library takes a coordinator's answers as the vectors of the protocol say: another is silence", async () => {
  const vectors = vectorsOf("pod-answers");
  await using coordination = await Coordination.start((response, { url = "" }) => {
    const at = Number(new URL(url, "http://a").searchParams.get("uid"));
    response.end(vectors[at]?.text);
  });
  const { port } = coordination;
  await Promise.all(
    vectors.map(async ({ name, fields }, at) => {
      const place = { host: "127.0.0.1", port, path: `/v1/pods/shop/web-1?uid=${at}`, tokenFile: undefined };
      const settings = { place, mode: "availability", isMeant: true, warnings: [] } as const;
      const evidence = new Evidence(parseConfig({}), clock, () => undefined);
      const coordinator = new Coordinator(settings, evidence, clock, () => undefined);
      coordinator.begin({});
      while (!coordinator.acknowledgements) await delay(10);
      const { state, consumers = null, behind = null } = fields ?? { state: "unknown" };
      const told = { state, consumers, behind };
      const silent = { state: "silent", consumers: null, behind: null };
      assert.deepEqual(coordinator.acknowledgements, state === "unknown" ? silent : told, name);
      await coordinator.end({}, 0);
    }),
  );
});
