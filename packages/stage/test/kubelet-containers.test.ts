import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { grain, limit, probe, scratch, startOn } from "./kubelet-support.ts";
import { closesAtTerm, node, observe, stageNetwork, workload } from "./local-stage.ts";

const network = await stageNetwork(import.meta.filename);
if (network) {
  const start = startOn(network);

  // They mostly wait: several at a time.
  suite("kubelet: containers", { concurrency: 5 }, () => {
    test("a container whose postStart fails is killed and started again", limit, async (context) => {
      const { file, text } = scratch(context);
      const hook = `if [ -e ${file} ]; then exit 0; fi; echo tried > ${file}; exit 1`;
      const observed = await start(context, node(closesAtTerm), {
        container: { postStart: { kind: "exec", command: ["sh", "-c", hook] } },
      });
      assert.equal(text().trim(), "tried");
      assert.ok(observed.all("started", "web-1").length >= 2);
    });

    test("a postStart hook finds all volumes, however long their mounting takes", limit, async (context) => {
      if (network.kind === "shared loopback") return;
      const emptyDirs = Array.from({ length: 60 }, (_, index) => `v${index}`);
      const mounts = emptyDirs.map((volume) => ({ volume, path: `/lameduck-${process.pid}-all/${volume}` }));
      // What the kernel makes of a script's first line looks much like what sets a container up.
      const { file } = scratch(context);
      writeFileSync(file, '#!/bin/sh --\n"$@"\n', { mode: 0o755 });
      const observed = await start(context, [file, ...node()], {
        container: { mounts, postStart: { kind: "exec", command: ["test", "-d", mounts.at(-1)!.path] } },
        pod: { emptyDirs },
      });
      assert.equal(observed.all("started", "web-1").length, 1);
    });

    test("a pod that never gets ready says that its postStart hook fails", limit, async (context) => {
      const postStart = { kind: "exec" as const, command: ["sh", "-c", "echo no disk >&2; exit 6"] };
      const made = workload(node(closesAtTerm), { container: { postStart }, pod: { graceSeconds: 1 } });
      const observed = observe(context, network, made, { progressDeadlineSeconds: 5 });
      await assert.rejects(observed.stage.ready(), {
        code: "LAMEDUCK_POD_NEVER_READY",
        message: /web-1: not ready after 5 s; postStart hook of main: exit code 6: no disk/,
      });
    });

    test(
      "the crash of a container is told with its last lines, and the container comes back at once",
      limit,
      async (context) => {
        const { file } = scratch(context);
        const app = `const fs = require("node:fs"); if (!fs.existsSync("${file}")) { fs.writeFileSync("${file}", ""); console.error("out of luck"); process.exit(9); }`;
        const observed = await start(context, [process.execPath, "-e", `${app} ${node()[2] ?? ""}`]);
        const crashed = await observed.first("crashed", "web-1");
        assert.equal(crashed.detail, "exit code 9: out of luck");
        const counts = observed.stage.pods.map(({ restarts, crashes }) => ({ restarts, crashes }));
        assert.deepEqual(counts, [{ restarts: 1, crashes: 1 }]);
      },
    );

    test("a pod that crashes again and again ends the wait with its last words", limit, async (context) => {
      const observed = observe(context, network, workload(["sh", "-c", "printf 'no database' >&2; exit 5"]));
      await assert.rejects(observed.stage.ready(), {
        code: "LAMEDUCK_POD_CRASHED",
        place: "web-1/main",
        message: /^web-1\/main: it ends again and again, exit code 5: no database$/,
      });
    });

    test("a command that the system refuses to start ends the wait", limit, async (context) => {
      const command = [process.execPath, "-e", "x".repeat(3_000_000)];
      const observed = observe(context, network, workload(command));
      await assert.rejects(observed.stage.ready(), {
        code: "LAMEDUCK_POD_CRASHED",
        message: /^container main: it cannot be started: spawn E2BIG$/,
      });
    });

    test("a pod that never gets ready ends the wait when the time is over", limit, async (context) => {
      const observed = observe(context, network, workload(["sleep", "1000"]), { progressDeadlineSeconds: 2 });
      await assert.rejects(observed.stage.ready(), {
        code: "LAMEDUCK_POD_NEVER_READY",
        message: /web-1: not ready after 2 s; nothing listens on port 8080/,
      });
    });

    test("a program that is not there is reported before anything starts", limit, (context) => {
      assert.throws(() => observe(context, network, workload(["no-such-program"])), {
        code: "LAMEDUCK_NO_SUCH_COMMAND",
        message: /no program "no-such-program"/,
      });
    });

    test("the phases that the library tells become events at the time they name", limit, async (context) => {
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

    test("a process that a container has started dies with it", limit, async (context) => {
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

    test("files of a ConfigMap are where they are mounted, one of them by itself", limit, async (context) => {
      if (network.kind === "shared loopback") return;
      const files = [{ path: "deep/a", bytes: Buffer.from("hello"), mode: 0o640 }];
      const name = `/lameduck-${process.pid}-settings`;
      const mounts = [
        { volume: "settings", path: `${name}/all` },
        { volume: "settings", path: `${name}/file`, subPath: "deep/a", isFile: true },
      ];
      const { file, text } = scratch(context);
      const tell = `cd ${name}; cat all/deep/a file; stat -c %a file`;
      const command = ["sh", "-c", `(${tell}) > ${file} && exec "$@"`, "sh", ...node(closesAtTerm)];
      await start(context, command, {
        container: { mounts },
        pod: { filled: [{ name: "settings", files }] },
      });
      assert.equal(text(), "hellohello640\n");
      assert.equal(existsSync(name), false);
    });

    test("the temporary files of a pod are its own, and gone with it", limit, async (context) => {
      const { file, text } = scratch(context);
      const made = (pod: string): string => (text().match(new RegExp(`^${pod} (.+)$`, "m")) ?? [])[1] ?? "";
      const observed = await start(context, [
        "sh",
        "-c",
        `echo "$HOSTNAME $(mktemp -d)" >> ${file}; exec "$@"`,
        "sh",
        ...node(closesAtTerm),
      ]);
      assert.ok(existsSync(made("web-1")), text());
      await observed.stage.deletePod("web-1");
      assert.equal(existsSync(made("web-1")), false);
    });

    test("the downward fields in a container are those of its pod", limit, async (context) => {
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
