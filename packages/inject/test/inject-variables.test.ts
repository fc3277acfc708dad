import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { web, pod, injected, result, told, type Fields } from "./injected.ts";

describe("the periods of probes", () => {
  const toldFor = (fields: Fields): string | undefined =>
    told(result(pod({ containers: [{ ...web, ...fields }] })))["LAMEDUCK_PROBE_PERIOD"];
  const httpGet = { path: "/healthz", port: 8080 };

  it("the periods of probes are told, of each probe that makes a connection and sends on it", () => {
    const probes = {
      readinessProbe: { httpGet, periodSeconds: 5 },
      livenessProbe: { grpc: { port: 8080 } },
      startupProbe: { httpGet, periodSeconds: 1 },
    };
    assert.equal(toldFor(probes), "5s,10s,1s");
    assert.equal(toldFor({ readinessProbe: { httpGet, periodSeconds: 0 } }), "10s");
  });

  it("the periods of probes are not told where the kubelet sends nothing, or where lameduck-init could not read them", () => {
    assert.equal(toldFor({}), undefined);
    assert.equal(toldFor({ readinessProbe: { tcpSocket: { port: 8080 } } }), undefined);
    assert.equal(toldFor({ livenessProbe: { exec: { command: ["true"] } } }), undefined);
    for (const periodSeconds of [-1, 1.5, 3_601, 2 ** 31 - 1, "10", "1s; x", {}])
      assert.equal(toldFor({ readinessProbe: { httpGet, periodSeconds } }), undefined);
  });

  it("the periods of probes stay as the container sets them", () => {
    const env = [{ name: "LAMEDUCK_PROBE_PERIOD", value: "7s" }];
    assert.equal(toldFor({ readinessProbe: { httpGet }, env }), "7s");
  });
});

describe("what a container is told", () => {
  const toldBy = (given: unknown): unknown[] =>
    injected(given).patch.flatMap(({ path, value }) => (path.includes("/env") ? [value].flat() : []));

  it("a container is told no grace period that a Lameduck in it would end at", () => {
    const year = pod({ terminationGracePeriodSeconds: 31_536_000 });
    assert.deepEqual(toldBy(year), [
      { name: "LAMEDUCK_GRACE_PERIOD", value: "2592000s" },
      { name: "LAMEDUCK_PRESTOP", value: "25s" },
    ]);
    assert.ok(JSON.stringify(injected(year).patch).includes('"--grace","2592000s"'));
  });

  it("a container is told of no hook that takes the whole grace period", () => {
    const own = (seconds: number): unknown => ({
      ...web,
      lifecycle: { preStop: { sleep: { seconds } } },
    });
    const given = (seconds: number): unknown =>
      pod({
        terminationGracePeriodSeconds: 30,
        containers: [
          own(seconds),
          { ...web, name: "node", env: [{ name: "LAMEDUCK_POLICY", value: "quiet" }] },
        ],
      });
    assert.equal(
      toldBy(given(30)).some(
        (one) => JSON.stringify(one).includes("30s") && JSON.stringify(one).includes("PRESTOP"),
      ),
      false,
    );
    assert.ok(
      toldBy(given(29)).some((one) => JSON.stringify(one).includes('"LAMEDUCK_PRESTOP","value":"29s"')),
    );
  });
});

describe("the coordinator's address", () => {
  const coordinator = { address: "http://lameduck-coordinator:8070", mode: "availability" } as const;
  const nameOf = ({ name }: { readonly name: string }): string => name;
  const inDownwardApi = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });

  it("the address of the coordinator is told to the container of the hook, which inherits it, with what the pod is called", () => {
    const { spec } = result(pod(), {}, { coordinator });
    const [{ env = [], lifecycle } = { env: undefined }] = spec.containers;
    assert.ok(lifecycle?.preStop?.["exec"]);
    assert.deepEqual(env.slice(2), [
      { name: "LAMEDUCK_COORDINATOR", value: coordinator.address },
      { name: "LAMEDUCK_POD_NAME", ...inDownwardApi("metadata.name") },
      { name: "LAMEDUCK_POD_NAMESPACE", ...inDownwardApi("metadata.namespace") },
      { name: "LAMEDUCK_POD_UID", ...inDownwardApi("metadata.uid") },
    ]);
  });

  it("the address of the coordinator comes with the mode consistency, and then with the policy that waits for the release alone", () => {
    const known = { coordinator: { ...coordinator, mode: "consistency" } } as const;
    const { spec } = result(pod(), {}, known);
    assert.deepEqual(spec.containers[0]?.env?.slice(-2), [
      { name: "LAMEDUCK_MODE", value: "consistency" },
      { name: "LAMEDUCK_POLICY", value: "acknowledged" },
    ]);
  });

  it("the address of the coordinator stays as the container sets it, an empty value too", () => {
    const own = [{ name: "LAMEDUCK_COORDINATOR", value: "" }];
    const { spec } = result(pod({ containers: [{ ...web, env: own }] }), {}, { coordinator });
    const names = spec.containers[0]?.env?.map(nameOf) ?? [];
    assert.deepEqual(names, ["LAMEDUCK_COORDINATOR", "LAMEDUCK_GRACE_PERIOD", "LAMEDUCK_PRESTOP"]);
  });

  it("the address of the coordinator is not told where acknowledgements are off, and is told once where they are on", () => {
    const off = result(pod()).spec.containers[0]?.env?.map(nameOf);
    assert.deepEqual(off, ["LAMEDUCK_GRACE_PERIOD", "LAMEDUCK_PRESTOP"]);
    assert.deepEqual(injected(result(pod(), {}, { coordinator }), {}, { coordinator }).patch, []);
  });
});
