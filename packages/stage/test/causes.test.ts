import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { suite, test } from "node:test";
import type { Cause, RemedyResult } from "@lameduck/accounting";
import { without } from "../../../scripts/programs.ts";
import { toleranceMs } from "../../accounting/src/evidence/tolerance.ts";
import { play, playInTime, type Running, type Scenario } from "./causes-scenario.ts";
import { podAddressOf } from "../src/namespaces/addresses.ts";
import { stageNetwork } from "./local-stage.ts";

/** A server that answers at once, at /slow after `slow` ms; `more` says what it does at SIGTERM. */
function server(more: string, slow = 300): string {
  return `
    const { createServer } = require("node:http");
    const server = createServer((request, response) => {
      setTimeout(() => response.end("done\\n"), request.url === "/slow" ? ${slow} : 0);
    });
    server.keepAliveTimeout = 60_000;
    const later = (after, what) => setTimeout(what, after);
    ${more}
    server.listen(Number(process.env.PORT), process.env.HOST);
  `;
}

/** Serves on for so long after SIGTERM, then leaves. */
const servesOn = (milliseconds: number): string =>
  server(`process.once("SIGTERM", () => later(${milliseconds}, () => process.exit(0)));`);

/** Lost by this cause alone, at least so often; each with a sentence that tells of it. */
function onlyCause(result: RemedyResult, cause: Cause, least: number, sentence: RegExp): void {
  const others = result.lostRequests.filter((lost) => lost.cause !== cause);
  assert.deepEqual(
    others.map((lost) => `${lost.cause}: ${lost.sentence}`),
    [],
  );
  assert.ok(result.lost >= least, `${result.lost} lost`);
  for (const lost of result.lostRequests) assert.match(lost.sentence, sentence);
}

/** The losses that a client saw as long after what a pod or a sender did as the two may lie apart. */
function near(result: RemedyResult, at: number | undefined): RemedyResult["lostRequests"] {
  return result.lostRequests.filter(
    (lost) => Math.abs(lost.at - (at ?? Infinity)) <= toleranceMs.observation,
  );
}

const single = { pooledShare: 0 } as const;
// What the pods do at SIGTERM decides the cause; the sender lets go in its own time, given by `propagation`.
const network = await stageNetwork(import.meta.filename);
if (network) {
  const scenario = { timeout: 60_000 };
  const loopback = network.kind === "shared loopback";

  // Two of them leave a core to each.
  suite("causes", { concurrency: 2 }, () => {
    test(
      "the cause is C1 where the pod has closed its listener and lives on, and its sender still chooses it",
      scenario,
      async (context) => {
        const result = await play(context, network, {
          app: server(
            `process.once("SIGTERM", () => { server.close(); later(6_000, () => process.exit(0)); });`,
          ),
          propagation: "exactly 2s",
          load: { ...single, rate: 100 },
          act: async ({ stage, begin, pod, countFromNow, sender }) => {
            await begin();
            void stage.deletePod("web-1");
            await pod("listener-closed", "web-1");
            countFromNow();
            await sender("converged");
          },
        });
        onlyCause(
          result,
          "C1",
          20,
          /^refused: sender-1 still chose web-1 .*s after its deletion; web-1 had closed its listener/,
        );
      },
    );

    test(
      "the cause is C2 where the pod is gone, and its sender still chooses it",
      scenario,
      async (context) => {
        const result = await play(context, network, {
          app: server(`process.once("SIGTERM", () => process.exit(0));`),
          propagation: "exactly 2s",
          load: { ...single, rate: 100 },
          act: async ({ stage, begin, pod, countFromNow, sender }) => {
            await begin();
            void stage.deletePod("web-1");
            await pod("gone", "web-1");
            countFromNow();
            await sender("converged");
          },
        });
        onlyCause(
          result,
          "C2",
          20,
          /sender-1 still chose web-1 .* after its deletion; web-1 had been gone for/,
        );
        assert.ok(
          result.lostRequests.every((lost) => lost.outcome === (loopback ? "refused" : "unreachable")),
        );
      },
    );

    /** The end of a pod's cable that its node has. */
    const linkOf = (stage: Running["stage"], name: string): string => {
      const address = stage.pods.find((pod) => pod.name === name)?.endpoint?.address;
      for (let number = 0; ; number++) if (podAddressOf(number) === address) return `ld${number}`;
    };
    /** A rule of the node for what goes to a pod (egress), or comes from it. */
    const filter = (link: string, hooks: readonly string[], rule: string): void => {
      const table = `netdev ${link}`;
      const chains = hooks.map(
        (hook) =>
          `add chain ${table} ${hook} { type filter hook ${hook} device ${link} priority 0; }; add rule ${table} ${hook} ${rule}`,
      );
      execFileSync("nft", [[`add table ${table}`, ...chains].join("; ")]);
    };
    const cannot = loopback ? "needs network namespaces" : without("ip");

    test(
      "the cause is C13 where a node takes the network of a pod away that runs on",
      { ...scenario, skip: cannot },
      async (context) => {
        const result = await play(context, network, {
          app: servesOn(6_000),
          propagation: "exactly 2s",
          load: { rate: 100, slowShare: 0.2, paths: { slow: "/slow" } },
          act: async ({ stage, begin, pod, requests, sender }) => {
            await begin();
            await requests(100);
            void stage.deletePod("web-1");
            await pod("deleted", "web-1");
            execFileSync("ip", ["link", "set", linkOf(stage, "web-1"), "down"]);
            await sender("converged");
          },
        });
        onlyCause(result, "C13", 20, /; nothing came from web-1 from .*: its network was cut$/);
        assert.deepEqual(
          new Set(result.lostRequests.map(({ outcome }) => outcome)),
          new Set(["unreachable", "timeout"]),
        );
      },
    );

    test(
      "the cause is C13 where pooled requests alone are lost, and the library in the pod says that nobody acknowledges",
      { ...scenario, skip: cannot || without("nft") },
      async (context) => {
        const result = await play(context, network, {
          app: server(
            `import("@lameduck/node").then(({ lameduck }) => lameduck(server, { grace: 10_000 }));`,
          ),
          propagation: "exactly 1s",
          load: { pooledShare: 1, rate: 50, slowShare: 1, paths: { slow: "/slow" }, timeout: "9s" },
          act: async ({ stage, begin, pod, requests }) => {
            await begin();
            await requests(50);
            void stage.deletePod("web-1");
            await pod("deleted", "web-1");
            filter(linkOf(stage, "web-1"), ["ingress", "egress"], "drop");
            await pod("exited", "web-1");
          },
        });
        onlyCause(result, "C13", 2, /its network was cut, as it says itself$/);
      },
    );

    test(
      "the cause is C14 where a node lets no new connection through to a pod that answers on older ones",
      { ...scenario, skip: cannot || without("nft") },
      async (context) => {
        const result = await play(context, network, {
          app: servesOn(6_000),
          propagation: "exactly 2s",
          // Several kept-alive connections are in use at any time.
          load: { rate: 100, slowShare: 0.5, paths: { slow: "/slow" } },
          act: async ({ stage, begin, pod, requests, sender }) => {
            await begin();
            await requests(100);
            void stage.deletePod("web-1");
            await pod("deleted", "web-1");
            filter(linkOf(stage, "web-1"), ["egress"], "tcp flags & (syn | ack) == syn drop");
            await sender("converged");
          },
        });
        onlyCause(
          result,
          "C14",
          20,
          /web-1 still accepted, and answered on older connections .*: new ones are/,
        );
      },
    );

    test(
      "the cause is C3 where idle connections are closed while requests are on their way",
      scenario,
      async (context) => {
        const played: Scenario = {
          // What arrives while the loop is busy lies unread in connections that Node takes for idle.
          app: server(`process.once("SIGTERM", () => {
        const busy = () => { for (const end = Date.now() + 8; Date.now() < end; ); };
        setInterval(() => { busy(); server.closeIdleConnections(); }, 100);
        later(4_000, () => process.exit(0));
      });`),
          replicas: 1,
          propagation: "exactly 2s",
          load: { pooledShare: 1, rate: 500 },
          act: async ({ stage, begin, requests, losses }) => {
            await begin();
            await requests(300);
            void stage.deletePod("web-1");
            await losses(30);
          },
        };
        const inTime = ({ lostRequests }: RemedyResult) =>
          lostRequests.filter(({ waited }) => waited <= toleranceMs.race);
        const result = await playInTime(context, network, played, inTime, 10);
        onlyCause(
          result,
          "C3",
          10,
          /on a kept-alive connection .* before the reset; web-1 had closed that idle connection/,
        );
      },
    );

    test("the cause is C4 where the process ends with requests in flight", scenario, async (context) => {
      const result = await play(context, network, {
        app: server(`process.once("SIGTERM", () => process.exit(0));`, 2_000),
        preStopSeconds: 1,
        propagation: "instant",
        load: { ...single, rate: 50, slowShare: 1, paths: { slow: "/slow" }, timeout: "10s" },
        act: async ({ stage, begin, requests, pod }) => {
          await begin();
          await requests(1);
          void stage.deletePod("web-1");
          await pod("gone", "web-1");
        },
      });
      onlyCause(result, "C4", 20, /in flight for [\d.]+ s when web-1 exited \(code 0\)$/);
    });

    test("the cause is C5 where SIGKILL ends the pod with requests in flight", scenario, async (context) => {
      const result = await play(context, network, {
        app: server(`process.on("SIGTERM", () => {});`, 3_000),
        graceSeconds: 2,
        propagation: "instant",
        load: { ...single, rate: 50, slowShare: 1, paths: { slow: "/slow" }, timeout: "10s" },
        act: async ({ stage, begin, requests, pod }) => {
          await begin();
          await requests(1);
          void stage.deletePod("web-1");
          await pod("gone", "web-1");
        },
      });
      onlyCause(result, "C5", 20, /SIGKILL ended web-1 when the grace period of 2.0 s was over$/);
      assert.equal(result.killed, 1);
      assert.equal(result.each.at(0)?.stopReason, "killed");
    });

    test(
      "the cause is C6 where connections wait to be accepted when the listener closes",
      scenario,
      async (context) => {
        const played: Scenario = {
          // The sender lets go before the listener closes, so that nobody is refused.
          app: server(`process.once("SIGTERM", () => {
        for (const end = Date.now() + 1_500; Date.now() < end; );
        server.close();
        later(1_000, () => process.exit(0));
      });`),
          propagation: "exactly 400ms",
          load: { ...single, rate: 200, timeout: "10s" },
          act: async ({ stage, begin, requests, pod }) => {
            await begin();
            await requests(50);
            void stage.deletePod("web-1");
            await pod("gone", "web-1");
          },
        };
        const inTime = (result: RemedyResult) => {
          const closed = result.timeline?.pods.find(({ type }) => type === "listener-closed")?.at;
          const left = result.timeline?.senders.find(({ type }) => type === "converged")?.at;
          return left !== undefined && closed !== undefined && left < closed ? near(result, closed) : [];
        };
        const result = await playInTime(context, network, played, inTime, 10);
        onlyCause(result, "C6", 10, /had waited .* to be accepted when web-1 closed its listener$/);
      },
    );

    test("the cause is C7 where a new pod counts as ready before it listens", scenario, async (context) => {
      const result = await play(context, network, {
        app: `const began = Date.now();${server("")}`
          .replace(
            "server.listen(",
            "later(process.env.HOSTNAME === 'web-1' ? 0 : 2_000, () => server.listen(",
          )
          .replace(/;\s*$/, ");"),
        replicas: 1,
        unprobed: true,
        propagation: "instant",
        load: { ...single, rate: 100 },
        act: async ({ stage, begin, pod, requests }) => {
          await pod("listener-opened", "web-1");
          await begin();
          await requests(50);
          void stage.scale(2);
          await pod("listener-opened", "web-2");
          await requests(50);
        },
      });
      onlyCause(
        result,
        "C7",
        20,
        /^refused: sender-1 already chose web-2, which (opened its listener|answered its first request) only/,
      );
      assert.equal(result.lostOutside, result.lost);
    });

    test("the cause is C8 where the remaining pods cannot carry the load", scenario, async (context) => {
      const result = await play(context, network, {
        // One at a time, 20 ms each: 50 requests a second and no more.
        app: `
        const { createServer } = require("node:http");
        let turn = Promise.resolve();
        const server = createServer((request, response) => {
          turn = turn.then(() => new Promise((done) => setTimeout(() => { response.end("done\\n"); done(); }, 20)));
        });
        process.once("SIGTERM", () => server.close(() => process.exit(0)));
        server.listen(Number(process.env.PORT), process.env.HOST);
      `,
        preStopSeconds: 1,
        strategy: { kind: "recreate" },
        propagation: "instant",
        load: { ...single, rate: 80, timeout: "1s" },
        act: async ({ stage, begin, requests, losses }) => {
          await stage.scale(2);
          await begin();
          await requests(80);
          void stage.scale(1);
          await losses(20);
        },
      });
      onlyCause(
        result,
        "C8",
        20,
        /^timed out after [\d.]+ s: web-\d was serving and not being deleted, with \d\d+ requests in flight when it was sent \(ordinarily \d+\)$/,
      );
    });

    test("the cause is C9 where the only pod ends before there is another", scenario, async (context) => {
      const result = await play(context, network, {
        app: servesOn(300),
        replicas: 1,
        strategy: { kind: "recreate" },
        preStopSeconds: 1,
        sender: "l7",
        propagation: "instant",
        load: { rate: 100 },
        act: async ({ stage, begin, requests }) => {
          await begin();
          await requests(50);
          await stage.rollout();
          await requests(50);
        },
      });
      onlyCause(result, "C9", 20, /^503 .*: sender-1 had no endpoint left/);
    });

    test(
      "the cause is proxy where a sender cuts established connections when it converges",
      scenario,
      async (context) => {
        const played: Scenario = {
          app: servesOn(6_000).replace("? 300 :", "? 2_000 :"),
          sender: "l4-cut",
          propagation: "exactly 500ms",
          load: { ...single, rate: 50, slowShare: 1, paths: { slow: "/slow" }, timeout: "10s" },
          act: async ({ stage, begin, requests, sender }) => {
            await begin();
            await requests(20);
            void stage.deletePod("web-1");
            await sender("severed");
            await requests(1);
          },
        };
        const inTime = (result: RemedyResult) =>
          near(result, result.timeline?.senders.find(({ type }) => type === "severed")?.at);
        const result = await playInTime(context, network, played, inTime, 10);
        onlyCause(
          result,
          "proxy",
          10,
          /sender-1 severed \d+ connections to web-1 when it stopped sending to it$/,
        );
      },
    );
  });

  // It looks for its generator among all processes.
  test(
    "the cause is C10 where the generator runs out of file descriptors",
    { ...scenario, skip: without("prlimit") },
    async (context) => {
      const result = await play(context, network, {
        app: server("", 1_000),
        descriptors: 20,
        propagation: "instant",
        load: { ...single, rate: 200, slowShare: 1, paths: { slow: "/slow" } },
        act: async ({ begin, losses }) => {
          await begin();
          await losses(20);
        },
      });
      assert.equal(result.lost, 0);
      assert.ok(result.notSent >= 20);
      assert.deepEqual(Object.keys(result.notSentBecause), ["EMFILE"]);
    },
  );
}
