import assert from "node:assert/strict";
import test from "node:test";
import { injectingHandler, type ClusterLookup } from "../src/admission/mutate.ts";
import type { AdmissionRequest } from "../src/admission/review.ts";
import { validate } from "../src/admission/validate.ts";

const pod = (metadata: object = {}, spec: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { labels: { app: "web" }, ...metadata },
  spec: { containers: [{ name: "web", image: "nginx", ports: [{ containerPort: 80 }] }], ...spec },
});

const request = (changes: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  uid: "u",
  group: "",
  kind: "Pod",
  operation: "CREATE",
  namespace: "shop",
  object: pod(),
  oldObject: undefined,
  ...changes,
});

const cluster: ClusterLookup = {
  pathsTo: () => ({ exposedBy: ["Service web"], convergence: { value: 10, origin: "kube-proxy" } }),
  labelsOf: () => ({ "lameduck.dev/inject": "enabled" }),
  policyOf: () => undefined,
  architectures: ["amd64"],
};

let blind = 0;
const judged = (
  changes: Partial<ClusterLookup> = {},
  coordinator?: string,
): ReturnType<typeof injectingHandler> =>
  injectingHandler({
    coordinator,
    cluster: { ...cluster, ...changes },
    namespace: "lameduck-system",
    lameduckVersion: "0.1.0",
    version: () => ({ major: 1, minor: 36 }),
    onUnknownPaths: () => blind++,
  });

test("an exposed pod is injected, and the audit log says how", () => {
  const { allowed, patch = [], audit } = judged()(request());
  assert.ok(allowed);
  assert.ok(patch.some(({ path }) => path.includes("lifecycle")));
  assert.match(audit?.["reasons"] ?? "", /web: held-by-hook/);
});

test("a pod with a mesh's sidecar holds as long as the mesh is assumed to take", () => {
  const sidecar = { name: "istio-proxy", image: "proxyv2", args: ["proxy", "sidecar"], env: [7, null] };
  const capOf = (more: object): string => {
    const { patch = [] } = judged()(request({ object: pod({}, more) }));
    return /"--cap[= ",]+(\d+)s/.exec(JSON.stringify(patch))?.[1] ?? JSON.stringify(patch);
  };
  assert.equal(capOf({}), "25");
  assert.equal(capOf({ initContainers: [sidecar] }), "45");
});

test("a pod that asks whether the webhook answers gets the version, also where pods are not injected, and a pod that asks the policy gets nothing", () => {
  const answered = (asked: string, policy?: object): unknown => {
    const object = pod({ annotations: { "lameduck.dev/probe": asked } });
    const { patch = [], warnings = [] } = judged({ policyOf: () => policy })(request({ object }));
    assert.deepEqual(warnings, []);
    return patch.filter(({ path }) => path.includes("probe"));
  };
  const answer = [{ op: "replace", path: "/metadata/annotations/lameduck.dev~1probe", value: "0.1.0" }];
  assert.deepEqual(answered("webhook"), answer);
  const off = { apiVersion: "lameduck.dev/v1alpha1", kind: "DrainPolicy", spec: { inject: false } };
  assert.deepEqual(answered("webhook", off), answer);
  assert.deepEqual(answered("policy"), []);
});

test("an injected pod is told of the coordinator, and of the mode in the policy of its namespace", () => {
  const policyOf = (): object => ({ spec: { acknowledgements: { mode: "consistency" } } });
  const variablesOf = (...known: Parameters<typeof judged>): string =>
    JSON.stringify(judged(...known)(request()).patch);
  const address = "http://lameduck-coordinator.lameduck-system.svc:8070";
  assert.match(
    variablesOf({ policyOf }, address),
    /"LAMEDUCK_COORDINATOR".*"LAMEDUCK_MODE","value":"consistency"/,
  );
  assert.doesNotMatch(variablesOf({}, address), /LAMEDUCK_MODE/);
  assert.doesNotMatch(variablesOf({ policyOf }), /LAMEDUCK_COORDINATOR/);
});

test("a hold comes in place of a sleep where the policy of the namespace or the pod says so, and nowhere else", () => {
  const sleeps = { preStop: { exec: { command: ["sh", "-c", "sleep 15; kill -QUIT 1"] } } };
  const asked = (policy?: string, annotation?: string): readonly string[] => {
    const containers = [{ name: "web", image: "nginx", ports: [{ containerPort: 80 }], lifecycle: sleeps }];
    const annotations = annotation === undefined ? {} : { "lameduck.dev/existing-sleep": annotation };
    const policyOf = (): unknown =>
      policy && { apiVersion: "lameduck.dev/v1alpha1", kind: "DrainPolicy", spec: { existingSleep: policy } };
    const object = pod({ annotations }, { containers });
    const { patch = [], warnings, audit } = judged({ policyOf })(request({ object }));
    assert.deepEqual(warnings, []);
    return [...patch.map(({ path }) => path), audit?.["reasons"] ?? ""];
  };
  const isReplaced = (said: readonly string[]): boolean =>
    said.includes("/spec/containers/0/lifecycle/preStop") &&
    said.includes("/metadata/annotations/lameduck.dev~1former-sleep") &&
    /web: sleep-replaced/.test(said.at(-1) ?? "");
  assert.deepEqual(asked(), ["web: hook-kept, nothing-to-do"]);
  assert.deepEqual(asked("replace", "keep"), asked());
  assert.ok(isReplaced(asked("replace")));
  assert.ok(isReplaced(asked("keep", "replace")));
});

test("a pod is left alone where nothing leads to it, where it declines, where it is of a Job, and in a system namespace", () => {
  for (const verdict of [
    judged({ pathsTo: () => ({ exposedBy: [], convergence: undefined }) })(
      request({ object: pod({}, { containers: [{ name: "web" }] }) }),
    ),
    judged()(request({ object: pod({ annotations: { "lameduck.dev/inject": "false" } }) })),
    judged()(request({ object: pod({ ownerReferences: [{ kind: "Job", name: "a", uid: "b" }] }) })),
    judged()(request({ namespace: "kube-system" })),
    judged()(request({ namespace: "lameduck-system" })),
    judged({ labelsOf: () => ({}) })(request()),
    judged()(request({ operation: "UPDATE" })),
    judged()(request({ kind: "Node" })),
  ])
    assert.deepEqual([verdict.allowed, verdict.patch], [true, []]);
});

test("a pod is injected although its namespace is too new to be known, because the API server has chosen that namespace", () => {
  assert.notDeepEqual(judged({ labelsOf: () => undefined })(request()).patch, []);
});

test("a pod that comes before the Services are known is judged by its ports, and is counted", () => {
  blind = 0;
  assert.notDeepEqual(judged({ pathsTo: () => undefined })(request()).patch, []);
  assert.equal(blind, 1);
});

test("the policies of namespace and cluster count for a pod, and a wrong annotation of the pod is only a warning", () => {
  const policyOf = (namespace: string): object => ({
    apiVersion: "lameduck.dev/v1alpha1",
    kind: "DrainPolicy",
    metadata: { name: "default" },
    spec: namespace === "shop" ? { gracePeriodSeconds: 77 } : { initVolume: "none" },
  });
  const { patch = [], warnings = [] } = judged({ policyOf })(
    request({ object: pod({ annotations: { "lameduck.dev/cap": "soon" } }) }),
  );
  const text = JSON.stringify(patch);
  assert.match(text, /terminationGracePeriodSeconds","value":77/);
  assert.match(text, /"sleep"/);
  assert.match(warnings.join(), /^lameduck: annotation lameduck\.dev\/cap: .*"soon"/);
});

const policy = (spec: object, name = "default"): object => ({
  apiVersion: "lameduck.dev/v1alpha1",
  kind: "DrainPolicy",
  metadata: { name },
  spec,
});
const ofPolicy = (object: unknown, oldObject?: unknown): AdmissionRequest =>
  request({
    group: "lameduck.dev",
    kind: "DrainPolicy",
    object,
    oldObject,
    operation: oldObject ? "UPDATE" : "CREATE",
  });

test("a wrong DrainPolicy is rejected by field, with the remedy, and a field that was wrong before is only a warning", () => {
  const bad = policy({ capSeconds: "soon" });
  const { allowed, message = "" } = validate(ofPolicy(bad));
  assert.equal(allowed, false);
  assert.match(
    message,
    /DrainPolicy default .*spec\.capSeconds: must be a whole number of seconds.*: write a whole number/,
  );
  assert.equal(validate(ofPolicy(policy({ capSeconds: 20 }))).allowed, true);
  assert.equal(validate(ofPolicy(policy({}, "other"))).allowed, false);
  const again = validate(ofPolicy(bad, bad));
  assert.equal(again.allowed, true);
  assert.match(again.warnings?.join() ?? "", /spec\.capSeconds/);
  assert.equal(validate(ofPolicy(policy({ capSeconds: "later" }), bad)).allowed, false);
});

const workload = (annotations: object, own: object = {}): object => ({
  metadata: { name: "web", annotations: own },
  spec: { template: { metadata: { annotations } } },
});
const ofWorkload = (object: unknown, oldObject?: unknown): AdmissionRequest =>
  request({
    group: "apps",
    kind: "Deployment",
    object,
    oldObject,
    operation: oldObject ? "UPDATE" : "CREATE",
  });

test("a workload with a wrong annotation is rejected by the name of the annotation, unless it was wrong before", () => {
  const bad = workload({ "lameduck.dev/cap": "20" });
  const { allowed, message = "" } = validate(ofWorkload(bad));
  assert.equal(allowed, false);
  assert.match(message, /Deployment web .*lameduck\.dev\/cap: "20" .*: add the unit: 20s/);
  assert.equal(validate(ofWorkload(bad, bad)).allowed, true);
  assert.deepEqual(validate(ofWorkload(workload({ "lameduck.dev/cap": "20s", other: "x" }))), {
    allowed: true,
  });
});

test("an annotation that a newer version may know is admitted with a warning, and a misspelt annotation is rejected", () => {
  const newer = validate(ofWorkload(workload({ "lameduck.dev/something-new": "1" })));
  assert.equal(newer.allowed, true);
  assert.match(newer.warnings?.[0] ?? "", /something-new: no such annotation/);
  const { allowed, message = "" } = validate(ofWorkload(workload({ "lameduck.dev/flor": "1s" })));
  assert.equal(allowed, false);
  assert.match(message, /did you mean floor\?/);
});

test("a DrainPolicy with many unknown fields is told the first ones, and is admitted when some of them are removed", () => {
  const wrong = (names: number): object =>
    policy({
      ...Object.fromEntries(Array.from({ length: names }, (_, index) => [`x${index}`, 1])),
      capSeconds: "y",
    });
  const { allowed, message = "" } = validate(ofPolicy(wrong(30)));
  assert.equal(allowed, false);
  assert.match(
    message,
    /spec\.capSeconds: .*spec\.x0: no such field.*spec: holds more than 20 unknown fields/,
  );
  assert.doesNotMatch(message, /spec\.x20/);
  assert.equal(validate(ofPolicy(wrong(25), wrong(30))).allowed, true);
  assert.equal(validate(ofPolicy(wrong(21), wrong(20))).allowed, false);
});

test("an annotation that is called like a property of every object is unknown, too", () => {
  const { warnings } = validate(ofWorkload(workload({ "lameduck.dev/constructor": "1" })));
  assert.match(warnings?.[0] ?? "", /constructor: no such annotation/);
});

test("a pod of more than 100 containers is left as it is, with a warning", () => {
  const containers = Array.from({ length: 101 }, () => ({ name: "web", image: "a" }));
  const { allowed, patch, warnings } = judged()(request({ object: pod({}, { containers }) }));
  assert.deepEqual([allowed, patch], [true, []]);
  assert.match(warnings?.[0] ?? "", /^lameduck: the pod has 101 containers; .*more than 100/);
});

test("a setting on the workload itself reaches no pod, and is a warning", () => {
  const { allowed, warnings } = validate(ofWorkload(workload({}, { "lameduck.dev/cap": "20s" })));
  assert.equal(allowed, true);
  assert.match(
    warnings?.[0] ?? "",
    /lameduck\.dev\/cap is read from spec\.template\.metadata\.annotations only/,
  );
});

test("the webhook rejects nothing but policies and workloads", () => {
  for (const object of [undefined, null, 1, "x", [], {}, pod(), policy({ capSeconds: "soon" })])
    for (const kind of ["Pod", "Service", "ReplicaSet", "DrainPolicy"])
      assert.equal(validate(request({ kind, object })).allowed, true);
});
