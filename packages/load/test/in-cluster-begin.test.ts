import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { runClock } from "@lameduck/accounting";
import { ApiFailure, type ContainerStatus } from "@lameduck/kube";

import { LoadJob } from "../src/in-cluster/job.ts";
import { LoadPods } from "../src/in-cluster/load-pods.ts";
import { PodLog } from "../src/in-cluster/pod-log.ts";
import type { Kube } from "../src/in-cluster/options.ts";
import { writeLine, type PodMessage } from "../src/in-cluster/transport/line.ts";
import { parseRoutes } from "../src/index.ts";

describe("a pod of the load that has ended before it is first seen", () => {
  it("the error of a load's pod that ended before it was seen names the URL that its log says did not answer", async () => {
    const pods = podsOf({ at: Date.now(), type: "failed", url: "http://nobody/", problem: "ENOTFOUND" });
    await assert.rejects(pods.find(0, AbortSignal.timeout(5_000)), {
      code: "LAMEDUCK_IN_CLUSTER_URL",
      message: /nobody.*ENOTFOUND/,
    });
  });

  it("the error of a load's pod that ended before it was seen names its exit code where its log says nothing", async () => {
    await assert.rejects(podsOf().find(0, AbortSignal.timeout(5_000)), {
      code: "LAMEDUCK_IN_CLUSTER_NOT_STARTED",
      message: /exit code 1/,
    });
  });
});

describe("a pod of the load that does not begin", () => {
  const waiting = { name: "load", state: { waiting: { reason: "ContainerCreating" } } };

  it("a pod of the load that does not begin is named with what it waits for and the last warning about it", async () => {
    const pods = podsIn(waiting, [], 'configmap "load" not found');
    assert.equal(
      await pods.standing(AbortSignal.timeout(5_000)),
      'pod load-0: ContainerCreating (configmap "load" not found)',
    );
  });

  it("a pod of the load that does not begin is told apart from one that runs in silence", async () => {
    const pods = podsIn({ name: "load", state: { running: {} } });
    assert.equal(
      await pods.standing(AbortSignal.timeout(5_000)),
      "pod load-0: runs, and its log says nothing yet",
    );
  });
});

describe("the log of a pod", () => {
  const unknown = new ApiFailure("GET log", 404, "", 'pod "load-0" does not exist');

  it("the log of a pod is asked for again while its kubelet has not heard of the pod yet", async () => {
    const said: string[] = [];
    let asked = 0;
    const kube: Kube = {
      ...nothing,
      get: <T>() => Promise.resolve({ items: [{}] } as T),
      stream: () =>
        ++asked < 3
          ? Promise.reject(unknown)
          : Promise.resolve(logOf({ at: 1, type: "end", due: [], because: "asked" })),
    };
    await new PodLog(kube, "/pods/load-0", ({ type }) => said.push(type)).ended;
    assert.deepEqual(said, ["end"]);
  });

  it("the log of a pod has ended where the pod is gone", async () => {
    const kube: Kube = {
      ...nothing,
      get: <T>() => Promise.resolve({ items: [] } as T),
      stream: () => Promise.reject(unknown),
    };
    const log = new PodLog(kube, "/pods/load-0", () => undefined);
    await log.ended;
    assert.equal(log.failure, undefined);
  });
});

const unused = (): Promise<never> => Promise.reject(new Error("not part of this test"));
const nothing: Kube = { get: unused, post: unused, delete: unused, patch: unused, stream: unused };

function logOf(...messages: readonly PodMessage[]): IncomingMessage {
  const log = new PassThrough();
  log.end(messages.map((message, sequence) => writeLine(sequence, message)).join(""));
  return log as unknown as IncomingMessage;
}

/** One pod whose container ended with exit code 1 after these messages. */
function podsOf(...messages: PodMessage[]): LoadPods {
  return podsIn({ name: "load", state: { terminated: { exitCode: 1, reason: "Error" } } }, messages);
}

/** One pod with this container, which wrote these messages. */
function podsIn(
  container: ContainerStatus,
  messages: readonly PodMessage[] = [],
  warning?: string,
): LoadPods {
  const pod = { metadata: { name: "load-0", uid: "1" }, status: { containerStatuses: [container] } };
  const events = warning === undefined ? [] : [{ type: "Warning", message: warning }];
  const kube: Kube = {
    ...nothing,
    get: <T>(path: string) => Promise.resolve({ items: path.includes("/events?") ? events : [pod] } as T),
    stream: () => Promise.resolve(logOf(...messages)),
  };
  return new LoadPods(
    {
      kube,
      namespace: "default",
      routes: parseRoutes(["http://nobody/"]),
      parallel: 1,
      clock: runClock(),
      rate: 1,
      maxDuration: 1_000,
      maxRequests: 1,
      timeout: 1_000,
      pooledShare: 0,
      seed: 1,
    },
    new LoadJob(kube, "default", false),
  );
}
