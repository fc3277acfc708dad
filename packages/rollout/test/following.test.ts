import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ServerClock } from "@lameduck/kube";
import { EndpointHistory } from "../src/following/endpoints.ts";
import { followPhases } from "../src/following/phases.ts";
import { FakeCluster, namespace } from "./fake-cluster.ts";

test("the history of EndpointSlices tells when a pod was withdrawn, and when no pod was ready", () => {
  const history = new EndpointHistory();
  const take = (at: number, ...ready: (boolean | "serving")[]): void =>
    history.take({
      type: "there",
      at,
      since: at,
      live: true,
      object: {
        metadata: { name: "web-abc", uid: "s1" },
        endpoints: ready.map((state, index) => ({
          addresses: [`10.1.0.${index}`],
          conditions:
            state === "serving"
              ? { ready: false, serving: true, terminating: true }
              : { ready: state, serving: state, terminating: false },
          targetRef: { kind: "Pod", name: `web-${index}` },
        })),
      },
    });
  take(0, false);
  take(100, true, true);
  take(200, true, "serving");
  take(300, "serving");
  take(400, false);
  take(500, true);
  assert.equal(history.withdrawnFrom("web-1", 150), 200);
  assert.equal(history.withdrawnFrom("web-0", 150), 300);
  assert.equal(history.withdrawnFrom("web-0", 350), undefined);
  // Terminating pods that still serve are somebody (KEP-1669); before the first endpoint nothing was known.
  assert.deepEqual(history.empty, [{ from: 400, to: 500 }]);
});

test("the difference to the server's clock is bounded by every answer, and the bounds always hold", () => {
  const answer = fc.record({ gap: fc.integer({ min: 1, max: 3_000 }), there: fc.nat(80), back: fc.nat(80) });
  fc.assert(
    fc.property(
      fc.integer({ min: -100_000, max: 100_000 }),
      fc.array(answer, { minLength: 1, maxLength: 30 }),
      (offset, answers) => {
        const clock = new ServerClock();
        let now = 1_000_000;
        for (const { gap, there, back } of answers) {
          now += gap;
          const server = Math.floor((now + there + offset) / 1_000) * 1_000;
          clock.note({ server, sent: now, received: now + there + back });
          now += there + back;
        }
        const found = clock.offset;
        assert.ok(found);
        assert.ok(Math.abs(found.milliseconds - offset) <= found.within, JSON.stringify(found));
        assert.ok(found.within <= 600);
      },
    ),
  );
});

test("a phase of the library is read from a log line, whatever stands before it, and from no other line", async () => {
  const lines = [
    "listening",
    '{"lameduck":"phase","phase":"serving","at":1}',
    '{"lameduck":"phase",',
    "",
    '2026-01-01T00:00:00Z {"lameduck":"phase","phase":"closing","at":1767225600123,"reason":"quiet","hold":2790}',
  ];
  await using cluster = await FakeCluster.start();
  cluster.fault = ({ sub }) => (sub === "log" ? { status: 200, body: `${lines.join("\n")}\n` } : undefined);
  const client = cluster.client();
  const phases: unknown[] = [];
  const pod = { namespace, name: "web-1", container: "app" };
  await followPhases(client, pod, (phase) => phases.push(phase), new AbortController().signal);
  client.close();
  assert.deepEqual(phases, [
    { at: 1_767_225_600_123, phase: "closing", reason: "quiet", detail: { hold: 2_790 } },
  ]);
});
