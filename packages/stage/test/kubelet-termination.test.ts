import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import type { ContainerTemplate, InitContainerTemplate } from "@lameduck/manifests";
import { grain, limit, probe, scratch, startOn, write } from "./kubelet-support.ts";
import { closesAtTerm, ignoresTerm, node, stageNetwork } from "./local-stage.ts";

const network = await stageNetwork(import.meta.filename);
if (network) {
  const start = startOn(network);

  // They mostly wait: several at a time.
  suite("kubelet: termination", { concurrency: 5 }, () => {
    test("a server that ignores SIGTERM is killed when the grace period is over", limit, async (context) => {
      const observed = await start(context, node(ignoresTerm));
      // A busy machine looks at its listener later than its probe.
      await observed.first("listener-opened", "web-1");
      await observed.stage.deletePod("web-1");
      const { at: signalled } = await observed.first("signalled", "web-1");
      const { at: killed } = await observed.first("killed", "web-1");
      assert.ok(killed - signalled >= 3_000 - grain, `${killed - signalled} ms`);
      assert.equal((await observed.first("exited", "web-1")).signal, "SIGKILL");
      const types = observed.events.filter(({ pod }) => pod === "web-1").map(({ type }) => type);
      assert.deepEqual(types.slice(-5), ["signalled", "killed", "listener-closed", "exited", "gone"]);
    });

    test(
      "a server without a handler ignores SIGTERM as PID 1, and dies of it otherwise",
      limit,
      async (context) => {
        const observed = await start(context, node());
        await observed.stage.deletePod("web-1");
        const { signal } = await observed.first("exited", "web-1");
        assert.equal(signal, network.kind === "shared loopback" ? "SIGTERM" : "SIGKILL");
        assert.equal(observed.all("killed").length, network.kind === "shared loopback" ? 0 : 1);
      },
    );

    test(
      "a server that closes at SIGTERM closes its listener, then exits, and is not killed",
      limit,
      async (context) => {
        const slowly = `process.once("SIGTERM", () => { server.close(); setTimeout(() => process.exit(3), 300); });`;
        const observed = await start(context, node(slowly));
        await observed.stage.deletePod("web-1");
        const closed = await observed.first("listener-closed", "web-1");
        const exited = await observed.first("exited", "web-1");
        assert.equal(exited.code, 3);
        assert.ok(closed.at < exited.at, "seen by looking at the socket, not by the exit");
        assert.equal(observed.all("killed").length, 0);
      },
    );

    for (const [what, first] of [
      ["several options", `#!/usr/bin/env -S ${process.execPath} --no-warnings --stack-trace-limit=5`],
      ["two dashes", `#!/usr/bin/env -S ${process.execPath} --no-warnings --`],
    ] as const)
      test(`a script whose interpreter has ${what} is stopped by SIGTERM`, limit, async (context) => {
        const script = join(dirname(scratch(context).file), "server");
        const [, , program] = node(closesAtTerm);
        writeFileSync(script, `${first}\n${program}`, { mode: 0o755 });
        const observed = await start(context, [script]);
        await observed.stage.deletePod("web-1");
        assert.equal((await observed.first("exited", "web-1")).code, 0);
        assert.equal(observed.all("killed").length, 0);
      });

    test("a stop signal of the pod's own is sent instead of SIGTERM", limit, async (context) => {
      const onQuit = `process.once("SIGQUIT", () => process.exit(4)); process.on("SIGTERM", () => process.exit(5));`;
      const observed = await start(context, node(onQuit), { container: { stopSignal: "SIGQUIT" } });
      await observed.stage.deletePod("web-1");
      assert.equal((await observed.first("signalled", "web-1")).signal, "SIGQUIT");
      assert.equal((await observed.first("exited", "web-1")).code, 4);
    });

    test("a sleep hook holds SIGTERM back while the pod goes on serving", limit, async (context) => {
      const observed = await start(context, node(closesAtTerm), {
        container: { preStop: { kind: "sleep", seconds: 1 } },
      });
      const gone = observed.stage.deletePod("web-1");
      const begun = await observed.first("pre-stop-begun", "web-1");
      const { address, port } = observed.endpoints.get("web-1") ?? { address: "", port: 0 };
      assert.equal(await (await fetch(`http://${address}:${port}/`)).text(), "web-1");
      await gone;
      const ended = await observed.first("pre-stop-ended", "web-1");
      const signalled = await observed.first("signalled", "web-1");
      assert.equal(ended.result, "done");
      assert.ok(ended.at - begun.at >= 1_000 - grain);
      assert.ok(signalled.at >= ended.at);
    });

    test("an exec hook runs beside the container, in its environment", limit, async (context) => {
      const { file, text } = scratch(context);
      const hook = `${write(file, "process.env.HOSTNAME")} fetch("http://" + (process.env.HOST === "0.0.0.0" ? "127.0.0.1" : process.env.HOST) + ":" + process.env.PORT).then((r) => r.text()).then((t) => { ${write(file, '" heard " + t')} });`;
      const observed = await start(context, node(closesAtTerm), {
        container: { preStop: { kind: "exec", command: [process.execPath, "-e", hook] } },
      });
      await observed.stage.deletePod("web-1");
      const ended = await observed.first("pre-stop-ended", "web-1");
      assert.equal(ended.result, "done", ended.detail);
      assert.equal(text(), "web-1 heard web-1");
      assert.ok((await observed.first("signalled", "web-1")).at >= ended.at);
    });

    test("an exec hook longer than the grace period is left behind", limit, async (context) => {
      const observed = await start(context, node(ignoresTerm), {
        container: { preStop: { kind: "exec", command: ["sleep", "1000"] } },
        pod: { graceSeconds: 2 },
      });
      await observed.stage.deletePod("web-1");
      const deleted = await observed.first("deleted", "web-1");
      const ended = await observed.first("pre-stop-ended", "web-1");
      const signalled = await observed.first("signalled", "web-1");
      const killed = await observed.first("killed", "web-1");
      assert.equal(ended.result, "cut");
      assert.ok(ended.at - deleted.at >= 2_000 - grain);
      assert.ok(signalled.at >= ended.at);
      assert.ok(
        killed.at - signalled.at >= 2_000 - grain,
        "two seconds are left, whatever the hook has used up",
      );
    });

    test("an http hook asks the pod itself, and any status is success", limit, async (context) => {
      const { file, text } = scratch(context);
      const app = `server.on("request", (request) => { if (request.url === "/bye?x=1") { ${write(file, 'request.headers["user-agent"] + " " + request.headers["x-a"]')} } });
      server.prependListener("request", (_, response) => { response.statusCode = 500; }); ${closesAtTerm}`;
      const observed = await start(context, node(app), {
        container: {
          preStop: { kind: "http", scheme: "HTTP", port: 8080, path: "/bye?x=1", headers: [["X-A", "b"]] },
        },
      });
      await observed.stage.deletePod("web-1");
      assert.equal((await observed.first("pre-stop-ended", "web-1")).result, "done");
      assert.match(text(), /^kube-lifecycle\/\S+ b$/);
    });

    for (const [what, preStop] of [
      ["an http hook that is refused", { kind: "http", scheme: "HTTP", port: 8099, path: "/", headers: [] }],
      ["an exec hook that fails", { kind: "exec", command: ["sh", "-c", "echo no; exit 4"] }],
      ["an exec hook without a program", { kind: "exec", command: ["no-such-program"] }],
      ["a tcpSocket hook", { kind: "tcp", port: 8080 }],
    ] as const satisfies readonly (readonly [string, ContainerTemplate["preStop"]])[])
      test(`${what} fails open, and SIGTERM follows at once`, limit, async (context) => {
        const observed = await start(context, node(closesAtTerm), { container: { preStop } });
        await observed.stage.deletePod("web-1");
        const ended = await observed.first("pre-stop-ended", "web-1");
        assert.equal(ended.result, "failed");
        assert.ok(ended.detail);
        assert.ok((await observed.first("signalled", "web-1")).at >= ended.at);
        assert.equal((await observed.first("exited", "web-1")).code, 0);
      });

    test(
      "sidecars start before the main container and stop after it, in reverse order",
      limit,
      async (context) => {
        const { file, text } = scratch(context);
        const init = (name: string, program: string): InitContainerTemplate => ({
          name,
          sidecar: false,
          command: [process.execPath, "-e", program],
          env: [],
          ports: [],
          mounts: [],
        });
        const patient = (name: string): InitContainerTemplate => ({
          ...init(
            name,
            `process.once("SIGTERM", () => setTimeout(() => process.exit(), 200)); setInterval(() => {}, 1000);
             require("node:fs").writeFileSync("${file}-${name}", "");`,
          ),
          sidecar: true,
          // SIGTERM shall find its handler.
          startup: probe(
            { kind: "exec", command: ["test", "-e", `${file}-${name}`] },
            { failureThreshold: 30 },
          ),
        });
        const once = init("once", write(file, '"once"'));
        const observed = await start(context, node(closesAtTerm), {
          pod: { initContainers: [patient("first"), once, patient("second")], graceSeconds: 10 },
        });
        assert.equal(text(), "once");
        const at = async (type: "started" | "signalled" | "exited", container: string) =>
          (await observed.first(type, "web-1", container)).at;
        assert.ok((await at("started", "first")) <= (await at("started", "once")));
        assert.ok((await at("exited", "once")) <= (await at("started", "second")));
        assert.ok((await at("started", "second")) <= (await at("started", "main")));
        await observed.stage.deletePod("web-1");
        assert.ok((await at("exited", "main")) <= (await at("signalled", "second")));
        assert.ok((await at("exited", "second")) <= (await at("signalled", "first")));
        assert.ok((await at("exited", "first")) <= (await observed.first("gone", "web-1")).at);
        assert.equal(observed.all("killed").length, 0);
      },
    );
  });
}
