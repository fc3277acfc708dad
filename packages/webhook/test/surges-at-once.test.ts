import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ApiFailure, type KubernetesClient, type Pod } from "@lameduck/kube";
import { surgeLabel, surgeLabelValue } from "@lameduck/protocol";
import { ownerLabel } from "../src/deletions/plan.ts";
import { HeldPods } from "../src/deletions/pods.ts";
import { Surges } from "../src/deletions/surges.ts";

const selector = { app: "web", [ownerLabel]: "1" };
const chosen = { ...selector, [surgeLabel]: surgeLabelValue };
const owner = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "rs", controller: true }];

interface Cluster {
  readonly pods: Map<string, Pod>;
  readonly created: () => number;
  /** What the controller of ReplicaSets does at one look, and a kubelet, which is slower. */
  readonly control: () => void;
  readonly becomeReady: () => void;
  readonly evict: (name: string) => void;
  readonly client: KubernetesClient;
}

/** @param pause before a call is served, and before its answer arrives. */
function clusterOf(replicas: number, running: number, pause: () => Promise<unknown>): Cluster {
  const pods = new Map<string, Pod>();
  let made = 0;
  const add = (isReady: boolean): void => {
    const name = `web-${made++}`;
    const metadata = { name, uid: name, namespace: "shop", labels: chosen, ownerReferences: owner };
    pods.set(name, { metadata, spec: { containers: [] }, ...ready(isReady) });
  };
  for (let one = 0; one < running; one++) add(true);
  const isSelected = ({ metadata: { labels = {} } }: Pod): boolean =>
    Object.entries(selector).every(([key, value]) => labels[key] === value);
  const change = (pod: Pod, changes: object): Pod => {
    const changed = { ...pod, ...changes };
    pods.set(pod.metadata.name, changed);
    return changed;
  };
  const served = async <T>(serve: () => T): Promise<T> => {
    await pause();
    const answer = serve();
    await pause();
    return answer;
  };
  const nameIn = (path: string): string => path.split("/").at(-1) ?? "";
  const gone = (): Error => new ApiFailure("shop", 404, "NotFound", "not found");
  return {
    pods,
    created: () => made - running,
    control: () => {
      for (const pod of pods.values())
        change(pod, { metadata: { ...pod.metadata, ownerReferences: isSelected(pod) ? owner : [] } });
      const owned = [...pods.values()].filter(isSelected);
      for (let missing = replicas - owned.length; missing > 0; missing--) add(false);
      const [first] = owned.sort((a, b) => Number(isReady(a)) - Number(isReady(b)));
      if (owned.length > replicas && first) pods.delete(first.metadata.name);
    },
    becomeReady: () => {
      for (const pod of pods.values()) if (!isReady(pod)) return void change(pod, ready(true));
    },
    evict: (name) => pods.delete(name),
    client: {
      get: (path: string) =>
        served(() => {
          if (path.includes("/replicasets/"))
            return { metadata: { uid: "rs" }, spec: { replicas, selector: { matchLabels: selector } } };
          const pod = pods.get(nameIn(path));
          if (!pod) throw gone();
          return pod;
        }),
      list: () => served(() => [...pods.values()].filter(isSelected)),
      patch: (path: string, { metadata: patched }: Pick<Pod, "metadata">) =>
        served(() => {
          const pod = pods.get(nameIn(path));
          if (!pod) throw gone();
          const labels = { ...pod.metadata.labels, ...patched.labels };
          const kept = Object.entries(labels).filter(([, value]) => (value as string | null) !== null);
          const { annotations } = patched;
          return change(pod, {
            metadata: { ...pod.metadata, labels: Object.fromEntries(kept), annotations },
          });
        }),
    } as unknown as KubernetesClient,
  };
}

const ready = (is: boolean): object => ({
  status: { conditions: [{ type: "Ready", status: is ? "True" : "False" }] },
});
const isReady = ({ status }: Pod): boolean => status?.conditions?.[0]?.status === "True";

test("however evictions of one workload meet, a pod is ready at every moment, and none makes two", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      // After a scale-down two may be there for a while.
      fc.integer({ min: 1, max: 2 }),
      // A drain of the next node evicts the pod that was made for the first; callers ask twice.
      fc.array(fc.nat({ max: 3 }), { minLength: 2, maxLength: 5 }),
      async (scheduler, running, targets) => {
        const pause = (): Promise<unknown> => scheduler.schedule(Promise.resolve());
        const cluster = clusterOf(1, running, pause);
        const look = (): void => assert.ok([...cluster.pods.values()].some(isReady), "no pod is ready");
        const problems: unknown[] = [];
        const surges = new Surges({
          client: cluster.client,
          pods: new HeldPods(
            cluster.client,
            { selecting: () => [], pathsTo: () => undefined, policyOf: () => undefined },
            "lameduck-system",
          ),
          settings: { surgeReplacement: 1_000 } as never,
          now: () => 0,
          onRestored: () => undefined,
          onProblem: (_part, error) => problems.push(error),
        });
        const evicted = new Set<string>();
        const evictor = async (target: number): Promise<void> => {
          const name = `web-${target}`;
          for (let time = 0; time < 50; time++) {
            await pause();
            const isThere = cluster.pods.get(name);
            // Evictions of pods that are not ready are not put off, and are no loss.
            if (!isThere || !isReady(isThere)) continue;
            evicted.add(name);
            const call = { action: "evict", namespace: "shop", name } as never;
            const end = await surges.decide(call);
            if ("later" in end) continue;
            await pause();
            cluster.evict(name);
            look();
            return;
          }
        };
        const doing = { isOver: false };
        const others = async (act: () => void, pauses: number): Promise<void> => {
          for (let time = 1; !doing.isOver; time++) {
            await pause();
            if (time % pauses === 0) act();
            look();
          }
        };
        const all = Promise.all(targets.map(evictor)).finally(() => (doing.isOver = true));
        await scheduler.waitFor(
          Promise.all([all, others(cluster.control, 1), others(cluster.becomeReady, 10)]),
        );
        // It may have gone between reading and marking.
        assert.deepEqual(
          problems.filter((one) => !(one instanceof ApiFailure)),
          [],
        );
        assert.ok(
          cluster.created() <= evicted.size,
          `${cluster.created()} pods were made for ${evicted.size} evictions`,
        );
      },
    ),
    { numRuns: 40 },
  );
});
