import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { get, grain, limit, probe, scratch, startOn, write } from "./kubelet-support.ts";
import { closesAtTerm, ignoresTerm, node, stageNetwork } from "./local-stage.ts";

const network = await stageNetwork(import.meta.filename);
if (network) {
  const start = startOn(network);

  // They mostly wait: several at a time.
  suite("kubelet: probes", { concurrency: 5 }, () => {
    test(
      "the readiness probe goes on during a termination, and the liveness probe does not",
      limit,
      async (context) => {
        const app = `let ok = true; server.prependListener("request", (_, response) => { if (!ok) response.statusCode = 503; });
      process.once("SIGTERM", () => { ok = false; setTimeout(() => process.exit(0), 3500); });`;
        const observed = await start(context, node(app), {
          container: { readiness: probe(get("/")), liveness: probe(get("/")) },
          pod: { graceSeconds: 8 },
        });
        await observed.stage.deletePod("web-1");
        const unready = await observed.first("unready", "web-1");
        assert.ok(unready.at >= (await observed.first("signalled", "web-1")).at);
        assert.deepEqual(
          observed.told.filter(({ pod }) => pod === "web-1").map(({ what }) => what),
          ["ready", "terminating", "gone"],
          "an endpoint that is terminating is not told to be unready",
        );
        assert.equal(observed.all("signalled", "web-1").length, 1, "liveness has killed nothing");
        assert.equal((await observed.first("exited", "web-1")).code, 0);
      },
    );

    test(
      "a liveness probe that fails restarts a container without a deletion, after its preStop hook",
      limit,
      async (context) => {
        const app = `let ok = true; server.prependListener("request", (request, response) => {
      if (request.url === "/break") ok = false; if (!ok && request.url === "/live") response.statusCode = 500; }); ${closesAtTerm}`;
        const observed = await start(context, node(app), {
          container: {
            liveness: probe(get("/live"), { failureThreshold: 2 }),
            preStop: { kind: "exec", command: ["true"] },
          },
        });
        const { address, port } = observed.endpoints.get("web-1") ?? { address: "", port: 0 };
        await fetch(`http://${address}:${port}/break`);
        await observed.first("pre-stop-ended", "web-1");
        await observed.nth(2, "ready", "web-1");
        assert.equal(observed.all("started", "web-1").length, 2);
        assert.equal(observed.all("deleted").length, 0);
        assert.equal(observed.all("crashed").length, 0, "it was no crash");
        assert.deepEqual(
          observed.told.map(({ what }) => what),
          ["ready", "unready", "ready"],
        );
      },
    );

    test(
      "probes that are cut leave nothing that keeps their container from ending",
      limit,
      async (context) => {
        // Much memory takes long to be given back: whoever entered the container for the probe could end sooner, and reap nothing.
        const slow = [process.execPath, "-e", "Buffer.alloc(2 ** 28, 1); setInterval(() => {}, 1_000);"];
        const observed = await start(context, node(closesAtTerm), {
          container: { liveness: probe({ kind: "exec", command: slow }, { failureThreshold: 3 }) },
        });
        assert.equal((await observed.first("exited", "web-1")).code, 0);
      },
    );

    test("a liveness probe that fails kills with its own grace period", limit, async (context) => {
      const app = `${ignoresTerm} setTimeout(() => server.prependListener("request", (_, response) => { response.statusCode = 500; }), 2500);`;
      const observed = await start(context, node(app), {
        container: { liveness: probe(get("/"), { graceSeconds: 2 }) },
        pod: { graceSeconds: 1_000 },
      });
      const signalled = await observed.first("signalled", "web-1");
      const killed = await observed.first("killed", "web-1");
      assert.ok(killed.at - signalled.at >= 2_000 - grain);
    });

    test("the startup probe is the only one until it has succeeded", limit, async (context) => {
      const { file, text } = scratch(context);
      const app = `let asked = 0; server.prependListener("request", (request, response) => {
      ${write(file, 'request.url + " "')} if (request.url === "/startup" && ++asked < 3) response.statusCode = 500; }); ${closesAtTerm}`;
      const observed = await start(context, node(app), {
        container: {
          startup: probe(get("/startup"), { failureThreshold: 30 }),
          readiness: probe(get("/ready")),
          liveness: probe(get("/live")),
        },
      });
      await observed.stage.deletePod("web-1");
      const paths = text().trim().split(" ");
      assert.deepEqual(paths.slice(0, 3), ["/startup", "/startup", "/startup"]);
      assert.ok(paths.includes("/ready"));
      assert.equal(paths.lastIndexOf("/startup"), 2, "and startup no more after it");
    });
  });
}
