import assert from "node:assert/strict";
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { ContainerTemplate, InitContainerTemplate, Probe } from "../src/manifest/index.ts";
import { closesAtTerm, ignoresTerm, node, observe, stageNetwork, workload } from "./local-stage.ts";

const network = await stageNetwork(import.meta.filename);
if (network) {
  const limit = { timeout: 60_000 };
  /** Clocks are read before and after what they measure. */
  const grain = 20;

  const probe = (handler: Probe["handler"], more: Partial<Probe> = {}): Probe => ({
    handler,
    initialDelaySeconds: 0,
    periodSeconds: 1,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 1,
    ...more,
  });
  const get = (path: string): Probe["handler"] => ({
    kind: "http",
    scheme: "HTTP",
    port: 8080,
    path,
    headers: [],
  });

  /** A file that containers write to and the test reads. */
  const scratch = (context: TestContext): { readonly file: string; readonly text: () => string } => {
    const directory = mkdtempSync(join(tmpdir(), "lameduck-test-"));
    context.after(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, "written");
    return {
      file,
      text: () => {
        try {
          return readFileSync(file, "utf8");
        } catch {
          return "";
        }
      },
    };
  };
  const write = (file: string, text: string): string =>
    `require("node:fs").appendFileSync("${file}", ${text});`;

  const start = async (context: TestContext, ...[command, changes]: Parameters<typeof workload>) => {
    const observed = observe(context, network, workload(command, changes));
    await observed.stage.ready();
    return observed;
  };

  // They mostly wait: several at a time.
  suite("kubelet", { concurrency: 5 }, () => {
    test("a server that ignores SIGTERM is killed when the grace period is over", limit, async (context) => {
      const observed = await start(context, node(ignoresTerm));
      await observed.stage.deletePod("web-1");
      const { at: signalled } = await observed.first("signalled", "web-1");
      const { at: killed } = await observed.first("killed", "web-1");
      assert.ok(killed - signalled >= 3_000 - grain, `${killed - signalled} ms`);
      assert.equal((await observed.first("exited", "web-1")).signal, "SIGKILL");
      const types = observed.events.filter(({ pod }) => pod === "web-1").map(({ type }) => type);
      assert.deepEqual(types.slice(-5), ["signalled", "killed", "listener-closed", "exited", "gone"]);
    });

    test(
      "a server without a handler ignores SIGTERM as PID 1, and dies of it elsewhere",
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
      "a server that closes at SIGTERM closes its listener, then exits; nobody is killed",
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
      test(`${what} fails open: SIGTERM at once`, limit, async (context) => {
        const observed = await start(context, node(closesAtTerm), { container: { preStop } });
        await observed.stage.deletePod("web-1");
        const ended = await observed.first("pre-stop-ended", "web-1");
        assert.equal(ended.result, "failed");
        assert.ok(ended.detail);
        assert.ok((await observed.first("signalled", "web-1")).at >= ended.at);
        assert.equal((await observed.first("exited", "web-1")).code, 0);
      });

    test(
      "sidecars start before and stop after the main container, in reverse order",
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

    test("readiness goes on being probed during termination; liveness does not", limit, async (context) => {
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
    });

    test(
      "liveness restarts a container without a deletion, by way of its preStop",
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

    test("liveness kills with the probe's own grace period", limit, async (context) => {
      const app = `${ignoresTerm} setTimeout(() => server.prependListener("request", (_, response) => { response.statusCode = 500; }), 2500);`;
      const observed = await start(context, node(app), {
        container: { liveness: probe(get("/"), { graceSeconds: 2 }) },
        pod: { graceSeconds: 1_000 },
      });
      const signalled = await observed.first("signalled", "web-1");
      const killed = await observed.first("killed", "web-1");
      assert.ok(killed.at - signalled.at >= 2_000 - grain);
    });

    test("nothing but startup is probed before the startup probe has succeeded", limit, async (context) => {
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

    test("a container whose postStart fails is killed and started again", limit, async (context) => {
      const { file, text } = scratch(context);
      const hook = `if [ -e ${file} ]; then exit 0; fi; echo tried > ${file}; exit 1`;
      const observed = await start(context, node(closesAtTerm), {
        container: { postStart: { kind: "exec", command: ["sh", "-c", hook] } },
      });
      assert.equal(text().trim(), "tried");
      assert.ok(observed.all("started", "web-1").length >= 2);
    });

    test(
      "a crash is told with the last lines, and the container comes back at once",
      limit,
      async (context) => {
        const { file } = scratch(context);
        const app = `const fs = require("node:fs"); if (!fs.existsSync("${file}")) { fs.writeFileSync("${file}", ""); console.error("out of luck"); process.exit(9); }`;
        const observed = await start(context, [process.execPath, "-e", `${app} ${node()[2] ?? ""}`]);
        const crashed = await observed.first("crashed", "web-1");
        assert.equal(crashed.detail, "exit code 9: out of luck");
        assert.deepEqual(observed.stage.troubles, { restarts: 1, crashes: 1 });
      },
    );

    test("a pod that crashes again and again ends the wait with its last words", limit, async (context) => {
      const observed = observe(context, network, workload(["sh", "-c", "echo no database >&2; exit 5"]));
      await assert.rejects(observed.stage.ready(), {
        code: "LAMEDUCK_POD_CRASHED",
        place: "web-1/main",
        message: /^web-1\/main: it ends again and again, exit code 5: no database$/,
      });
    });

    test("a pod that never gets ready ends the wait when the time is over", limit, async (context) => {
      const observed = observe(context, network, workload(["sleep", "1000"]), { progressDeadlineSeconds: 2 });
      await assert.rejects(observed.stage.ready(), {
        code: "LAMEDUCK_POD_NEVER_READY",
        message: /web-1: not ready after 2 s; nothing listens on port 8080/,
      });
    });

    test("a program that is not there is said before anything starts", limit, (context) => {
      assert.throws(() => observe(context, network, workload(["no-such-program"])), {
        code: "LAMEDUCK_NO_SUCH_COMMAND",
        message: /no program "no-such-program"/,
      });
    });

    test("phases told by the library become events at the time they name", limit, async (context) => {
      const app = `process.once("SIGTERM", () => {
      console.error(JSON.stringify({ lameduck: "phase", phase: "lame-duck", at: Date.now(), reason: "SIGTERM" }));
      setTimeout(() => { console.error(JSON.stringify({ lameduck: "phase", phase: "closing", at: Date.now(), reason: "quiet", hold: 300 }));
        server.close(() => process.exit(0)); }, 300); });`;
      const observed = await start(context, node(app));
      await observed.stage.deletePod("web-1");
      const [lame, closing] = observed.all("phase", "web-1");
      assert.equal(lame?.phase, "lame-duck");
      assert.equal(lame?.reason, undefined);
      assert.equal(closing?.reason, "quiet");
      assert.deepEqual(closing?.detail, { hold: 300 });
      const signalled = await observed.first("signalled", "web-1");
      // The wall clock is read in whole milliseconds.
      assert.ok(
        (lame?.at ?? 0) >= signalled.at - grain && (closing?.at ?? 0) - (lame?.at ?? 0) >= 300 - grain,
      );
    });

    test("what a container has started dies with it", limit, async (context) => {
      const { file, text } = scratch(context);
      const app = `const child = require("node:child_process").spawn("sh", ["-c", "while :; do echo $HOSTNAME >> ${file}; sleep 0.05; done"], { stdio: "ignore" });`;
      const observed = await start(context, node(`${app} ${closesAtTerm}`));
      await observed.stage.deletePod("web-1");
      const written = (pod: string): number => text().split(pod).length - 1;
      const left = written("web-1");
      assert.ok(left > 0);
      // Its successor does the same: by its lines one sees that time enough has passed.
      const before = written("web-2");
      while (written("web-2") < before + 5) await setTimeout(20);
      assert.equal(written("web-1"), left);
    });

    test("an emptyDir is shared by the containers of one pod, and gone with it", limit, async (context) => {
      const { file } = scratch(context);
      const mountPath = join(file, "..");
      const mounts = [{ volume: "shared", path: mountPath }];
      const changes = {
        container: {
          mounts,
          readiness: probe({ kind: "exec", command: ["test", "-e", join(mountPath, "from-init")] } as const),
        },
        pod: {
          emptyDirs: ["shared"],
          initContainers: [
            {
              name: "init",
              sidecar: false,
              command: ["sh", "-c", `echo hello > ${mountPath}/from-init`],
              env: [],
              ports: [],
              mounts,
            },
          ],
        },
      };
      if (network.kind === "shared loopback") {
        assert.throws(() => observe(context, network, workload(node(), changes)), {
          code: "LAMEDUCK_MOUNT_MISSING",
        });
        return;
      }
      const observed = await start(context, node(closesAtTerm), changes);
      assert.deepEqual(readdirSync(mountPath), [], "this machine's own directory is untouched");
      const shared = globSync(join(network.scratch, "*", "web-1", "shared", "from-init"));
      assert.equal(shared.length, 1);
      await observed.stage.stop();
      assert.equal(existsSync(join(shared[0] ?? "", "../../..")), false);
    });

    test("an emptyDir may be mounted where this machine has no directory", limit, async (context) => {
      if (network.kind === "shared loopback") return;
      const { file } = scratch(context);
      const deep = join(file, "..", "not", "there");
      const name = `/lameduck-${process.pid}-not-there`;
      const mounts = [deep, name, `${name}/below`].map((path, index) => ({ volume: `v${index}`, path }));
      const touch = mounts.map(({ path }) => `echo $HOSTNAME > ${path}/mark`).join(" && ");
      const test = mounts.map(({ path }) => `test -s ${path}/mark`).join(" && ");
      const observed = await start(
        context,
        ["sh", "-c", `${touch} && ls /proc/self /dev/null /usr/ && exec "$@"`, "sh", ...node(closesAtTerm)],
        {
          container: {
            mounts,
            workingDirectory: name,
            readiness: probe({ kind: "exec", command: ["sh", "-c", `${test} && test "$(pwd)" = ${name}`] }),
          },
          pod: { emptyDirs: ["v0", "v1", "v2"] },
        },
      );
      assert.deepEqual(readdirSync(join(file, "..")), [], "nothing is made on this machine");
      assert.equal(existsSync(name), false);
      // Its readiness is the files'; SIGTERM shall find the server's handler.
      await observed.first("listener-opened", "web-1");
      await observed.stage.deletePod("web-1");
      assert.equal((await observed.first("exited", "web-1")).code, 0);
    });

    test("the downward fields are those of the pod", limit, async (context) => {
      const { file, text } = scratch(context);
      const fields = ["metadata.name", "metadata.namespace", "status.podIP", "metadata.labels['app']"];
      const observed = await start(
        context,
        ["sh", "-c", `echo "$(A) $B $C $D" > ${file}; exec "$@"`, "sh", ...node(closesAtTerm)],
        {
          container: {
            env: [
              ...fields.map((field, index) => ({ name: "ABCD"[index] ?? "", field })),
              { name: "PORT", field: "lab.port" },
              { name: "HOST", field: "lab.host" },
            ],
          },
        },
      );
      const address = observed.endpoints.get("web-1")?.address;
      assert.equal(text().trim(), `web-1 default ${address} web`);
    });
  });
}
