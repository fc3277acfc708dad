import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { InClusterLoad, checkInClusterOptions } from "../src/index.ts";
import { jobManifest, programManifest } from "../src/in-cluster/manifests.ts";
import type { PodPlan } from "../src/in-cluster/plan.ts";

import { isRefusal, loadContainer, whyNotBegun } from "../src/in-cluster/start.ts";

describe("starting", () => {
  const pod = (status: object) => ({
    metadata: { name: "load-0", uid: "1" },
    spec: { containers: [] },
    status,
  });

  it("a load that starts names what will never start, and waits for what may", () => {
    const pulling = pod({
      containerStatuses: [{ name: "load", state: { waiting: { reason: "ContainerCreating" } } }],
    });
    assert.equal(whyNotBegun(pulling, 100_000), undefined);
    const denied = pod({
      containerStatuses: [
        { name: "load", state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } } },
      ],
    });
    assert.match(whyNotBegun(denied, 0)?.message ?? "", /load-0: ImagePullBackOff: no such image/);
    const full = pod({
      conditions: [
        {
          type: "PodScheduled",
          status: "False",
          reason: "Unschedulable",
          message: "0/3 nodes are available",
        },
      ],
    });
    assert.equal(whyNotBegun(full, 1_000), undefined);
    assert.match(whyNotBegun(full, 60_000)?.message ?? "", /0\/3 nodes/);
  });

  it("a load that starts looks at its own container, wherever a mesh has put one of its own", () => {
    const proxied = (load: object, proxy: object) =>
      pod({
        containerStatuses: [
          { name: "istio-proxy", state: proxy },
          { name: "load", state: load },
        ],
      });
    const ended = { terminated: { exitCode: 0, reason: "Completed" } };
    const running = { running: {} };
    assert.equal(whyNotBegun(proxied(running, ended), 100_000), undefined);
    assert.equal(loadContainer(proxied(ended, running).status)?.state?.terminated?.exitCode, 0);
    assert.match(whyNotBegun(proxied(ended, running), 0)?.message ?? "", /ended with exit code 0/);
    const waits = { name: "load", state: { waiting: { reason: "PodInitializing" } } };
    const init = { name: "mesh-init", state: { waiting: { reason: "ImagePullBackOff" } } };
    assert.match(
      whyNotBegun(pod({ initContainerStatuses: [init], containerStatuses: [waits] }), 0)?.message ?? "",
      /container mesh-init: ImagePullBackOff/,
    );
  });

  it("a load that starts does not wait for what is refused for good", () => {
    for (const warning of [
      'Error creating: pods "load-0" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3',
      'Error creating: pods "load-0" is forbidden: violates PodSecurity "restricted:latest": x',
      'Error creating: admission webhook "policy.example" denied the request: no',
    ])
      assert.ok(isRefusal(warning), warning);
    for (const warning of ["", 'Error creating: failed calling webhook "mesh": connection refused'])
      assert.ok(!isRefusal(warning), warning);
  });

  it("the Job of a load runs where the target may, on Linux, and pulls with its secrets", () => {
    const like = {
      nodeSelector: { "kubernetes.io/arch": "arm64", pool: "web" },
      tolerations: [{ key: "spot", operator: "Exists" }],
      imagePullSecrets: [{ name: "registry" }],
    };
    const options = {
      name: "a",
      image: "i",
      parallel: 1,
      longest: 1,
      grace: 1,
      avoidNodes: [],
      secret: false,
    };
    const { spec } = jobManifest({ ...options, like }) as {
      spec: { template: { spec: Record<string, unknown> } };
    };
    const { nodeSelector, tolerations, imagePullSecrets, volumes } = spec.template.spec;
    assert.deepEqual(nodeSelector, { "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64" });
    assert.deepEqual([tolerations, imagePullSecrets], [like.tolerations, like.imagePullSecrets]);
    assert.deepEqual(volumes, [{ name: "program", configMap: { name: "a" } }]);
  });

  it("the program of a load is a Secret where headers or a body are in it", () => {
    const route = { name: "a", url: "http://a/", protocol: "http" } as const;
    const plan = (request: object): PodPlan => ({
      routes: [{ ...route, request }],
      load: { rate: 1 },
      seed: 1,
      linger: 0,
    });
    const made = (request: object) =>
      programManifest("a", "u", "x", plan(request)) as Record<string, unknown>;
    assert.equal(made({})["kind"], "ConfigMap");
    for (const request of [{ headers: ["A: b"] }, { method: "POST", body: "" }]) {
      assert.equal(made(request)["kind"], "Secret");
      assert.ok(made(request)["stringData"]);
    }
  });

  it("the Job of a load is refused without a URL", () => {
    assert.throws(() => checkInClusterOptions({ parallel: 1, routes: [] }), {
      code: "LAMEDUCK_IN_CLUSTER_BAD_OPTION",
    });
    assert.equal(typeof InClusterLoad.start, "function");
  });
});
