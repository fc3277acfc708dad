import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { drainPolicyCrd } from "@lameduck/inject";
import { operatorNames, surgeLabel, surgeLabelValue } from "@lameduck/protocol";
import { type Cluster, type Manifest, until, whyNot } from "../cluster/index.ts";
import { podFields } from "../cluster/workload.ts";
import { clusterRemedy } from "../matrix/remedies.ts";
import { runScenario } from "../matrix/run.ts";
import { quiet, type Stage } from "../matrix/scenarios.ts";
import type { Configuration } from "./deletions-stage.ts";
import { leastKubeconfig, operatorsObjects, startBeside, type Running } from "./operator-beside.ts";
import { apply, drain, quietCluster } from "./support.ts";

const reason = await whyNot();
/** How long a surge waits for the new pod here. Seconds. */
const replacement = 60;
/** A pod that holds itself bridges the start of its successor where that is quick. Here it is not. */
const grace = 10;
const readyAfterMs = 15_000;

const budget: Manifest = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "web" },
  spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
};

/** A drain with a budget and without a surge would never end. */
const rows = [
  { what: "without a budget and without a surge loses requests", isChosen: false },
  { what: "with a budget and a surge ends, and loses nothing", isChosen: true },
] as const;

/** The operator's process, with its least rights, beside the API server; a Deployment of one pod, which holds itself. */
describe("surges before evictions", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let operator: Running;

  before(async () => {
    cluster = await quietCluster({ nodes: 3 });
    await apply(cluster, drainPolicyCrd, ...operatorsObjects({ surges: true }));
    operator = await startBeside(cluster, await leastKubeconfig(cluster), [
      "--surge",
      `--surge-replacement=${replacement}s`,
    ]);
    const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${operatorNames.surge}`;
    await until(
      async () => {
        const { webhooks } = await cluster.api.get<Configuration>(path);
        return webhooks.every(
          ({ clientConfig: { url, caBundle } }) =>
            caBundle !== undefined && /\/surge\/[0-9a-f]{64}$/.test(url),
        );
      },
      { what: "the API server told whom to trust, and which path to call" },
    );
  });
  after(async () => {
    if (process.env["E2E_VERBOSE"] === "1") process.stderr.write(operator.log());
    operator?.child.kill("SIGKILL");
    await cluster?.[Symbol.asyncDispose]();
  });

  const choose = (): Promise<string> =>
    cluster.kubectl(["label", "pod", "-l", "app=web", `${surgeLabel}=${surgeLabelValue}`, "--overwrite"]);

  for (const { what, isChosen } of rows)
    it(`kubectl drain ${what}, where a workload has one pod`, async () => {
      const adaptive = clusterRemedy("adaptive");
      assert.ok(adaptive);
      const pod = { ...adaptive.pod, gracePeriodSeconds: grace };
      const environment = {
        ...pod.environment,
        LAMEDUCK_GRACE_PERIOD: `${grace}s`,
        READY_DELAY_MS: String(readyAfterMs),
      };
      const act = async (stage: Stage): Promise<void> => {
        if (isChosen) {
          await apply(cluster, budget);
          await choose();
        }
        const [node = ""] = await podFields(cluster, stage.app, "spec.nodeName");
        const { status, stderr } = await drain(cluster, node, "100s");
        await cluster.kubectl(["uncordon", node]);
        if (isChosen) await cluster.kubectl(["delete", "pdb", "web"]);
        assert.equal(status, 0, stderr);
        await quiet(stage);
      };
      const { result } = await runScenario(cluster, {
        remedy: { ...adaptive, pod: { ...pod, environment } },
        scenario: { name: what, description: "", run: act },
        route: "cluster-ip",
        times: 1,
        replicas: 1,
        requestsPerSecond: 60,
        rolling: { surge: "1", unavailable: "0" },
        say: () => undefined,
      });
      process.stderr.write(`# drain ${what}: ${result.lost} of ${result.sent} requests lost\n`);
      assert.equal(result.lost > 0, !isChosen, operator.log());
      assert.ok(result.terminations > 0);
    });
});
