import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { manifestFromCommand } from "@lameduck/manifests";
import { adjustTemplate } from "../src/adjust.ts";
import { Backoff } from "../src/kubelet/container.ts";
import { expand } from "../src/kubelet/environment.ts";
import { get } from "../src/kubelet/http.ts";
import { Prober } from "../src/kubelet/prober.ts";
import type { PodNetwork } from "../src/network/network.ts";
import { terminateContainers, type HookResult, type Terminable } from "../src/kubelet/termination.ts";
import { VirtualClock } from "./kubelet-clock.ts";

/** Seconds of a container's behaviour: its hook, and how long it takes to exit after SIGTERM. */
interface Behaviour {
  readonly name: string;
  readonly hook?: number;
  readonly hookFails?: boolean;
  readonly exitsAfter?: number;
}

/** Everything that happened, as "2.0 app SIGTERM". */
async function terminated(
  mains: Behaviour[],
  sidecars: Behaviour[],
  graceSeconds: number,
): Promise<string[]> {
  const clock = new VirtualClock();
  const log: { at: number; what: string }[] = [];
  const note = (what: string): void => void log.push({ at: clock.now() / 1_000, what });
  const container = ({ name, hook, hookFails = false, exitsAfter = Infinity }: Behaviour): Terminable => {
    let exit: () => void = () => undefined;
    const exited = new Promise<void>((resolve) => (exit = resolve)).then(() => note(`${name} exited`));
    const result: HookResult = hookFails ? { ok: false, detail: "refused" } : { ok: true };
    return {
      name,
      exited,
      terminate: () => {
        note(`${name} SIGTERM`);
        if (exitsAfter < Infinity) void clock.sleep(exitsAfter * 1_000).then(exit);
        if (exitsAfter === 0) exit();
        return Promise.resolve();
      },
      kill: () => {
        note(`${name} SIGKILL`);
        exit();
        return Promise.resolve();
      },
      ...(hook === undefined ? {} : { preStop: () => clock.sleep(hook * 1_000).then(() => result) }),
    };
  };
  await clock.run(
    terminateContainers(mains.map(container), sidecars.map(container), graceSeconds, clock, (event) => {
      if (event.type === "pre-stop-begun") note(`${event.container} hook`);
      if (event.type === "pre-stop-ended") note(`${event.container} hook ${event.result}`);
    }),
  );
  return log.toSorted((a, b) => a.at - b.at).map(({ at, what }) => `${at} ${what}`);
}

test("preStop hooks run in parallel and delay only their own container's SIGTERM", async () => {
  assert.deepEqual(
    await terminated(
      [
        { name: "a", hook: 5, exitsAfter: 1 },
        { name: "b", exitsAfter: 1 },
      ],
      [],
      30,
    ),
    ["0 a hook", "0 b SIGTERM", "1 b exited", "5 a hook done", "5 a SIGTERM", "6 a exited"],
  );
});

test("the whole seconds of a hook are taken off the grace period, and the fraction is not", async () => {
  assert.deepEqual(await terminated([{ name: "a", hook: 2.9 }], [], 10), [
    "0 a hook",
    "2.9 a hook done",
    "2.9 a SIGTERM",
    "10.9 a SIGKILL",
    "10.9 a exited",
  ]);
});

test("two seconds are left after SIGTERM, whatever time the hook has used up", async () => {
  assert.deepEqual((await terminated([{ name: "a", hook: 9.5 }], [], 10)).slice(2, 4), [
    "9.5 a SIGTERM",
    "11.5 a SIGKILL",
  ]);
  assert.deepEqual((await terminated([{ name: "a" }], [], 1)).slice(0, 2), ["0 a SIGTERM", "2 a SIGKILL"]);
});

test("a hook longer than the grace period is left behind, not waited for", async () => {
  assert.deepEqual(await terminated([{ name: "a", hook: 60 }], [], 10), [
    "0 a hook",
    "10 a hook cut",
    "10 a SIGTERM",
    "12 a SIGKILL",
    "12 a exited",
  ]);
});

test("a failed hook lets SIGTERM follow at once", async () => {
  assert.deepEqual(await terminated([{ name: "a", hook: 0, hookFails: true, exitsAfter: 1 }], [], 10), [
    "0 a hook",
    "0 a hook failed",
    "0 a SIGTERM",
    "1 a exited",
  ]);
});

test("sidecars are signalled after all main containers, from the last started to the first, and their hooks start at once", async () => {
  const log = await terminated(
    [
      { name: "a", exitsAfter: 1 },
      { name: "b", exitsAfter: 3 },
    ],
    [
      { name: "first", exitsAfter: 1, hook: 2 },
      { name: "second", exitsAfter: 1 },
    ],
    30,
  );
  assert.deepEqual(log, [
    "0 a SIGTERM",
    "0 b SIGTERM",
    "0 first hook",
    "1 a exited",
    "2 first hook done",
    "3 b exited",
    "3 second SIGTERM",
    "4 second exited",
    "4 first SIGTERM",
    "5 first exited",
  ]);
});

test("all sidecars together have two seconds when the grace period is over", async () => {
  const log = await terminated([{ name: "a" }], [{ name: "first" }, { name: "second" }], 10);
  assert.deepEqual(
    log.filter((line) => !line.endsWith("exited")).toSorted(),
    // All at once: which of them comes first at 10 s is chance, here and in a cluster.
    [
      "0 a SIGTERM",
      "10 a SIGKILL",
      "10 first SIGTERM",
      "10 second SIGTERM",
      "12 first SIGKILL",
      "12 second SIGKILL",
    ],
  );
});

// Two seconds by the least there is after SIGTERM, and less than one more that truncated hooks give back.
test("no container outlives the grace period by three seconds, and none is killed early", async () => {
  const behaviour = fc.record(
    {
      name: fc.constant("x"),
      hook: fc.double({ min: 0, max: 40, noNaN: true }),
      exitsAfter: fc.double({ min: 0.001, max: 40, noNaN: true }),
    },
    { requiredKeys: ["name"] },
  );
  const several = (max: number) => fc.array(behaviour, { maxLength: max });
  await fc.assert(
    fc.asyncProperty(
      several(3),
      several(3),
      fc.integer({ min: 1, max: 30 }),
      async (mains, sidecars, grace) => {
        const log = await terminated(
          mains.map((one, index) => ({ ...one, name: `m${index}` })),
          sidecars.map((one, index) => ({ ...one, name: `s${index}` })),
          grace,
        );
        for (const line of log) {
          const [at, name, what] = line.split(" ");
          assert.ok(Number(at) < grace + 3, line);
          if (what === "SIGKILL") assert.ok(Number(at) >= grace - 1e-6, `${name} killed early: ${line}`);
        }
        assert.equal(log.filter((line) => line.endsWith("exited")).length, mains.length + sidecars.length);
      },
    ),
    { numRuns: 200 },
  );
});

async function probed(
  answers: readonly boolean[],
  thresholds: { success: number; failure: number },
  delay = 0,
  clock = new VirtualClock(),
) {
  const results: string[] = [];
  const asked: number[] = [];
  const run = { startedAt: 500 };
  const prober = new Prober({
    probe: {
      handler: { kind: "tcp", port: 1 },
      initialDelaySeconds: delay,
      periodSeconds: 2,
      timeoutSeconds: 1,
      successThreshold: thresholds.success,
      failureThreshold: thresholds.failure,
    },
    clock,
    subject: () => (clock.now() >= run.startedAt ? run : undefined),
    check: () => {
      asked.push(clock.now());
      return Promise.resolve(answers[asked.length - 1] ?? false);
    },
    onResult: (success) => results.push(`${clock.now()} ${success}`),
  });
  void prober.start();
  await clock.until(answers.length * 2_000 + delay * 1_000);
  prober.stop();
  return { results, asked };
}

test("a probe's ticks count from the pod's beginning, and its thresholds count results in a row", async () => {
  const { results, asked } = await probed([false, false, true, false, false, false], {
    success: 1,
    failure: 3,
  });
  assert.deepEqual(asked.slice(0, 3), [2_000, 4_000, 6_000], "the container started at 0.5 s");
  assert.deepEqual(results, ["6000 true", "12000 false"]);
});

/** As timers of Node do at times. */
class HastyClock extends VirtualClock {
  override sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(milliseconds > 1 ? milliseconds - 1 : milliseconds, signal);
  }
}

test("a timer that fires a millisecond early makes no second probe", async () => {
  const clock = new HastyClock();
  const { asked } = await probed([true, true, true, true], { success: 1, failure: 3 }, 0, clock);
  assert.deepEqual(asked, [1_999, 3_999, 5_999, 7_999]);
});

test("a probe waits for its initial delay, counted in whole seconds from the container's start", async () => {
  const { asked } = await probed([true, true, true], { success: 2, failure: 1 }, 4);
  assert.equal(asked[0], 6_000, "at 4.0 s only 3 whole seconds had passed");
});

test("a container's restarts back off from 10 s to 300 s and are forgiven after ten quiet minutes", () => {
  const backoff = new Backoff();
  let now = 0;
  const delays = Array.from({ length: 8 }, () => backoff.next((now += 1_000)));
  assert.deepEqual(delays, [0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  assert.equal(backoff.next(now + 600_001), 0);
});

test("references to the environment are expanded as Kubernetes does", () => {
  const values = { A: "1", B: "$(A)" };
  assert.equal(expand("$(A) $$(A) $(B) $(NO) $A $$", values), "1 $(A) $(A) $(NO) $A $");
});

test("files of a remedy come beside those that are in the root of a container already", () => {
  const { template } = manifestFromCommand(["/web"]);
  const [own, more] = [
    { from: "/here/hook", to: "/hook" },
    { from: "/here/init", to: "/init" },
  ] as const;
  const root = { path: "/image", env: {}, user: 0, group: 0, groups: [], files: [own] };
  const containers = template.containers.map((one) => ({ ...one, root }));
  const adjusted = adjustTemplate({ ...template, containers }, { files: [more] });
  assert.deepEqual(adjusted.containers[0]?.root?.files, [own, more]);
  assert.deepEqual(adjustTemplate({ ...template, containers }, {}).containers[0]?.root?.files, [own]);
});

test("a probe follows redirects to every port of the host that it asked, and to no other host", async (context) => {
  const listen = async (answer: RequestListener): Promise<number> => {
    const server = createServer(answer).listen(0, "127.0.0.1");
    context.after(() => server.close());
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const elsewhere = await listen((request, response) => {
    response.writeHead(request.url === "/login?a=b" ? 500 : 404).end();
  });
  const locations: Readonly<Record<string, string>> = {
    "/port": `http://127.0.0.1:${elsewhere}/login?a=b`,
    "/scheme": `//127.0.0.1:${elsewhere}/login?a=b`,
    "/path": "/end",
    "/host": `http://localhost:${elsewhere}/login?a=b`,
    "/for-ever": "/for-ever",
  };
  const port = await listen(({ url = "" }, response) => {
    const location = locations[url];
    response.writeHead(location === undefined ? 204 : 302, location === undefined ? {} : { location }).end();
  });
  const network = { address: "127.0.0.1", localPort: (wanted: number) => wanted } as PodNetwork;
  const ask = (path: string): Promise<number> =>
    get(
      { kind: "http", scheme: "HTTP", port, path, headers: [] },
      { network, from: "127.0.0.1" },
      "kube-probe/1.36",
      AbortSignal.timeout(10_000),
    );
  assert.deepEqual(
    [await ask("/port"), await ask("/scheme"), await ask("path"), await ask("/host")],
    [500, 500, 204, 302],
  );
  await assert.rejects(ask("/for-ever"), /10 redirects/);
});
