import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { until } from "../../load/test/servers.ts";
import { resultsOf } from "../../accounting/test/results-of.ts";
import { compiledServer, compiledTrap, dockerArchive, serverImage, tarOf } from "./image-archive.ts";
import {
  hasInit,
  nobody,
  program,
  runProgram,
  start,
  withoutNamespaces,
  withoutNobody,
  type Ended,
} from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-image-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));
chmodSync(folder, 0o755);

const compiled = compiledServer(folder);
const skip = (await withoutNamespaces()) || (compiled === undefined && "needs a C compiler");
const archive = join(folder, "web.tar");
if (compiled !== undefined) writeFileSync(archive, serverImage(readFileSync(compiled)));

const manifest = join(folder, "web.yaml");
writeFileSync(
  manifest,
  `apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { greeting: hello }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 15
      volumes: [{ name: cache, emptyDir: {} }, { name: settings, configMap: { name: settings } }]
      containers:
        - name: web
          image: registry.example/web:7
          env: [{ name: OF_BOTH, value: manifest }, { name: EXPECTED_USER, value: "101" }]
          ports: [{ containerPort: 80 }]
          securityContext: { readOnlyRootFilesystem: true, runAsUser: 101, runAsNonRoot: true, allowPrivilegeEscalation: false }
          volumeMounts: [{ name: settings, mountPath: /cache/settings }, { name: cache, mountPath: /cache }]
          readinessProbe: { exec: { command: [/web, probe] }, periodSeconds: 1 }
          lifecycle: { postStart: { exec: { command: [/web, probe] } }, preStop: { exec: { command: [/web, hook] } } }
`,
);

const unheld = join(folder, "unheld.yaml");
writeFileSync(unheld, readFileSync(manifest, "utf8").replace(/, preStop: .*/, " }"));

// Connections of their own: what is lost on kept-alive ones depends on a gap in their requests, which a hold cannot make.
const quick = ["--rps", "60", "--pooled", "0", "--warm-up", "1s", "--propagation", "exactly 1s..2s"];
/** Of 60 requests a second half go to each of two pods, which are stale for a second or more: some 30 and more. A busy machine sends fewer. */
const leastLost = 10;

interface As {
  /** Put before the command. */
  readonly prefix?: readonly string[];
  readonly cache: string;
}

function lab(args: readonly string[], { prefix = [], cache }: As): Promise<Ended> {
  const [file = "", ...rest] = [...prefix, process.execPath, program, "lab", ...args];
  return runProgram(file, rest, { env: { ...process.env, XDG_CACHE_HOME: cache, HOME: cache } });
}

/** A manifest before its containers, a container that makes a link in the volume that it shares with the one after it, and that one. */
function withLink(text: string): readonly [before: string, first: string, container: string] {
  const [before = "", container = ""] = text.split("      containers:\n");
  const first = container
    .replace("name: web", "name: link\n          command: [/web, link]")
    .replace(/ +readinessProbe: .*\n +lifecycle: .*\n/, "");
  return [before, first, container];
}

/** Nothing half unpacked, nothing in use, no mount; and no program of an image has run outside of it. */
function mustBeClean(cache: string, images: number): void {
  const all = globSync("lameduck/images/*", { cwd: cache });
  assert.deepEqual([all.length, all.filter((one) => one.includes("tmp-"))], [images, []]);
  assert.deepEqual(globSync("lameduck/images/*/{used-*,root/way-out}", { cwd: cache }), []);
  assert.doesNotMatch(readFileSync("/proc/self/mountinfo", "utf8"), new RegExp(cache));
}

const users = [
  ["whoever runs the tests", [], skip],
  ["an ordinary user", nobody, skip || withoutNobody()],
] as const;

// Each has namespaces of its own and little load.
describe("images", { concurrency: 2 }, () => {
  for (const [who, prefix, not] of users)
    test(
      `hooks of an image's root run for ${who} as in the container: they stop PID 1, and nothing of the image leaves its root`,
      { skip: not },
      async () => {
        const cache = mkdtempSync(join(folder, "cache-"));
        chmodSync(cache, 0o777);
        const hostile = join(cache, "hostile.tar");
        const mark = join(cache, "trapped");
        // Deaf to its own signal, as PID 1 without a handler is.
        const config = {
          StopSignal: "SIGTERM",
          Env: ["OF_IMAGE=yes", "OF_BOTH=image", "LD_PRELOAD=./trap.so:/proc/1/root/trap.so"],
        };
        const library = { path: "trap.so", text: readFileSync(compiledTrap(cache, mark)), mode: 0o755 };
        writeFileSync(hostile, serverImage(readFileSync(compiled!), config, library));
        const user = prefix.length > 0 ? "65534" : String(process.getuid?.());
        const path = join(cache, "root.yaml");
        const text = readFileSync(manifest, "utf8")
          .replace('value: "101" }', `value: "${user}" }, { name: LOOK_FOR_A_WAY_OUT, value: "1" }`)
          .replace("runAsUser: 101, runAsNonRoot: true, allowPrivilegeEscalation: false", "runAsUser: 0")
          .replace("[/web, hook]", "[/web, stop]");
        writeFileSync(path, text);
        const json = join(cache, "lab.json");
        const image = ["--image", `registry.example/web:7=${hostile}`];
        const args = ["-f", path, ...image, "--remedies", "nothing", ...quick, "--json", json];
        const { code, err } = await lab(args, { prefix, cache });
        assert.equal(code, 1, err);
        const [nothing] = resultsOf(readFileSync(json, "utf8")).remedies;
        assert.deepEqual([nothing?.terminations, nothing?.killed], [2, 0]);
        // Each container has run once, and has found no way out.
        const exits = nothing?.timeline?.pods.flatMap((event) =>
          event.type === "exited" ? [event.code] : [],
        );
        assert.deepEqual(exits, [0, 0]);
        assert.ok(!existsSync(mark), "no program of this machine has loaded a library of the image");
        mustBeClean(cache, 1);
      },
    );

  for (const [who, prefix, not] of users)
    test(
      `a working directory that became a link stays in the image's root for ${who}, and root has no capability that was dropped`,
      { skip: not },
      async () => {
        const cache = mkdtempSync(join(folder, "cache-"));
        chmodSync(cache, 0o777);
        const user = prefix.length > 0 ? "65534" : String(process.getuid?.());
        const path = join(cache, "link.yaml");
        const text = readFileSync(manifest, "utf8")
          .replace('value: "101" }', `value: "${user}" }, { name: WITHOUT_CAPABILITIES, value: "1" }`)
          .replace(
            "runAsUser: 101, runAsNonRoot: true, allowPrivilegeEscalation: false",
            "runAsUser: 0, capabilities: { drop: [ALL] }",
          );
        // The container before it has the same but for what it runs, and where.
        const [before, first, container] = withLink(text);
        const linked = container
          .replace("name: web", "name: web\n          workingDir: /cache/link")
          .replace("env: [", 'env: [{ name: EXPECTED_DIRECTORY, value: "/" }, ');
        writeFileSync(path, `${before}      initContainers:\n${first}      containers:\n${linked}`);
        const json = join(cache, "lab.json");
        const image = ["--image", `registry.example/web:7=${archive}`];
        const args = ["-f", path, ...image, "--remedies", "nothing", ...quick, "--json", json];
        const { code, err } = await lab(args, { prefix, cache });
        assert.equal(code, 1, err);
        const [nothing] = resultsOf(readFileSync(json, "utf8")).remedies;
        assert.deepEqual([nothing?.terminations, nothing?.killed], [2, 0]);
        mustBeClean(cache, 1);
      },
    );

  for (const [who, prefix, not] of users)
    test(
      `a mount path that became a link leads no mount out of the image's root for ${who}`,
      { skip: not },
      async () => {
        const cache = mkdtempSync(join(folder, "cache-"));
        chmodSync(cache, 0o777);
        const path = join(cache, "mount.yaml");
        const mounts = "{ name: cache, mountPath: /cache }";
        const text = readFileSync(manifest, "utf8").replace(
          "volumes: [",
          "volumes: [{ name: programs, emptyDir: {} }, ",
        );
        const [before, first, container] = withLink(text);
        const filled = first.replace(mounts, `${mounts}, { name: programs, mountPath: /programs }`);
        const led = container.replace(
          mounts,
          `${mounts}, { name: programs, mountPath: /cache/link/usr/bin }`,
        );
        writeFileSync(path, `${before}      initContainers:\n${filled}      containers:\n${led}`);
        const image = ["--image", `registry.example/web:7=${archive}`];
        const args = ["-f", path, ...image, "--remedies", "nothing", ...quick];
        const { code, err } = await lab(args, { prefix, cache });
        mustBeClean(cache, 1);
        assert.equal(code, 4, err);
        assert.match(err, /nothing can be mounted at \/cache\/link\/usr\/bin: a link leads away from it/);
      },
    );

  for (const [who, prefix, not] of users)
    test(
      `lab -f runs a manifest's own image for ${who}: as its user, in its root, stopped by its signal`,
      { skip: not },
      async () => {
        const cache = mkdtempSync(join(folder, "cache-"));
        chmodSync(cache, 0o777);
        const json = join(cache, "lab.json");
        const remedies = hasInit() ? "nothing,adaptive" : "nothing";
        const args = [
          "-f",
          manifest,
          "--image",
          `registry.example/web:7=${archive}`,
          "--remedies",
          remedies,
          ...quick,
        ];
        const { code, err } = await lab([...args, "--json", json], { prefix, cache });
        assert.equal(code, 1, err);
        assert.match(err, /container web runs the image registry\.example\/web:7, from .*web\.tar/);
        const [nothing, adaptive] = resultsOf(readFileSync(json, "utf8")).remedies;
        // It ends at SIGQUIT only, and at once.
        assert.deepEqual([nothing?.terminations, nothing?.killed], [2, 0]);
        assert.ok(
          nothing && nothing.lost >= leastLost && nothing.sent > 2 * nothing.lost,
          JSON.stringify(nothing),
        );
        if (adaptive) {
          assert.deepEqual([adaptive.terminations, adaptive.killed], [2, 0]);
          assert.equal(adaptive.lost, 0, adaptive.lostRequests.map(({ sentence }) => sentence).join("\n"));
          assert.ok(adaptive.sent >= nothing.sent, `${adaptive.sent} requests, ${nothing.sent} without`);
        }
        mustBeClean(cache, 1);
      },
    );

  test("lab --image runs an image by itself, at the port that it exposes", { skip }, async () => {
    const cache = mkdtempSync(join(folder, "cache-"));
    const root = join(cache, "rootfs");
    // A root file system without a word about it, as `podman export` writes it.
    mkdirSync(join(root, "etc"), { recursive: true });
    writeFileSync(join(root, "web"), readFileSync(compiled!), { mode: 0o755 });
    const none = await lab(["--image", root, ...quick], { cache });
    assert.equal(none.code, 2);
    assert.match(none.err, /neither Entrypoint nor Cmd \[LAMEDUCK_IMAGE_NO_PROGRAM\]/);
    // The program says what is not as it expects: here nobody told it a user.
    const { code, err } = await lab(["--image", archive, "--remedies", "nothing", ...quick], { cache });
    assert.equal(code, 4);
    assert.match(err, /not so: the user is the image's.*\[LAMEDUCK_POD_CRASHED\]/);
    mustBeClean(cache, 1);
  });

  test(
    "an image that is not here, is hostile or is for a program that it lacks is one line, with what to do",
    { skip },
    async () => {
      const cache = mkdtempSync(join(folder, "cache-"));
      const hostile = join(cache, "hostile.tar");
      writeFileSync(
        hostile,
        dockerArchive([
          tarOf({ path: "a", type: "SymbolicLink", linkpath: "../.." }, { path: "a/b", text: "no" }),
        ]),
      );
      const empty = join(cache, "empty.tar");
      writeFileSync(
        empty,
        dockerArchive([tarOf({ path: "etc/passwd", text: "" })], { config: { Cmd: ["/web"] } }),
      );
      const cases: readonly (readonly [string[], RegExp])[] = [
        [
          ["--image", "registry.example/nowhere:1"],
          /registry\.example\/nowhere:1 is not on this machine \[LAMEDUCK_IMAGE_NOT_HERE\]; pull it/,
        ],
        [
          ["-f", manifest],
          /web\.yaml:19:\d+: the image .* is not on this machine \[LAMEDUCK_IMAGE_NOT_HERE\]/,
        ],
        [
          ["--image", hostile],
          /layer 1 of 1: a\/b would be written through a link that leads out \[LAMEDUCK_IMAGE_REFUSED\]/,
        ],
        [["--image", empty], /there is no program "\/web" in its image \[LAMEDUCK_NO_SUCH_COMMAND\]/],
        [["--image", archive, "--network", "loopback"], /--image: goes with namespaces/],
        [["-f", manifest, "--image", archive], /with -f, write NAME=SOURCE/],
        [["-f", manifest, "--image", `other=${archive}`], /the manifest has no image "other", but \S/],
      ];
      for (const [args, problem] of cases) {
        const { code, err } = await lab([...args, ...quick], { cache });
        assert.ok(code === 2 || code === 4, `${code}: ${err}`);
        assert.match(err, problem);
      }
      mustBeClean(cache, 1);
    },
  );

  for (const [command, phase, words, early] of [
    ["lab", "an image is read", /: reading/, endlessEngine],
    ["lab", "an image is unpacked", /: unpacking/, longImage],
    ["lab", "pods start", /nothing: starting/, undefined],
    ["lab", "pods are rolled", /nothing: rolling/, undefined],
    ["audit --prove", "an image is read", /: reading/, endlessEngine],
    ["audit --prove", "an image is unpacked", /: unpacking/, longImage],
    ["audit --prove", "pods start", /as it is: starting/, undefined],
    ["audit --prove", "pods are rolled", /as it is: rolling/, undefined],
  ] as const)
    test(`Ctrl-C in ${command} while ${phase} leaves nothing behind`, { skip }, async () => {
      const cache = mkdtempSync(join(folder, "cache-"));
      const scratch = join(cache, "tmp");
      mkdirSync(scratch);
      const made = early?.(cache);
      const image = ["--image", `registry.example/web:7=${made?.source ?? archive}`];
      const env = { ...process.env, ...made?.env, XDG_CACHE_HOME: cache, TMPDIR: scratch };
      const args =
        command === "lab"
          ? ["lab", "-f", manifest, ...image, "--remedies", "nothing", ...quick]
          : ["audit", unheld, "--prove", ...image];
      const running = start(args, { env });
      await running.said(words);
      running.child.kill("SIGINT");
      const { code, out, err } = await running.ended;
      assert.equal(code, 130, err);
      // The report is kept, and nothing is said to have been proved.
      assert.doesNotMatch(out, /^proof/m);
      if (command !== "lab" && !early) assert.match(out, /no-lame-duck/);
      assert.deepEqual(readdirSync(scratch), []);
      mustBeClean(cache, made ? 0 : 1);
      const engine = made?.engine && readFileSync(made.engine, "utf8").trim();
      if (engine) await until(() => !existsSync(`/proc/${engine}`), "the engine has ended");
    });
});

interface Early {
  readonly source: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Holds the number of the engine's process. */
  readonly engine?: string;
}

/** An engine that never comes to the end of an image. */
function endlessEngine(cache: string): Early {
  const bin = join(cache, "bin");
  mkdirSync(bin);
  const engine = join(cache, "engine");
  const config = JSON.stringify([{ Id: `sha256:${"1".repeat(64)}`, Config: { Cmd: ["/web"] } }]);
  const head = tarOf({ path: "layer", text: "", size: 1 << 30 }).subarray(0, 512);
  writeFileSync(join(bin, "head"), head);
  const script = `#!/bin/sh
if [ "$1" = image ]; then echo '${config}'; exit; fi
echo $$ > ${engine}
cat ${join(bin, "head")} /dev/zero
`;
  writeFileSync(join(bin, "docker"), script, { mode: 0o755 });
  return { source: "docker:web:1", env: { PATH: `${bin}:${process.env["PATH"] ?? ""}` }, engine };
}

/** A small archive with a layer of a gigabyte, so that a busy test still meets the program at its unpacking. */
function longImage(cache: string): Early {
  const large = join(cache, "large.tar");
  const head = tarOf({ path: "large", text: "", size: 1 << 30 }).subarray(0, 512);
  // As much noise as makes it no bomb.
  const piece = gzipSync(Buffer.concat([randomBytes(32 << 10), Buffer.alloc(2 << 20)]));
  const layer = Buffer.concat([gzipSync(head), ...Array.from({ length: 500 }, () => piece)]);
  writeFileSync(large, dockerArchive([head], { config: { Cmd: ["/large"] }, compress: () => layer }));
  return { source: large };
}

test("lameduck images lists what was unpacked, and removes it", { skip: skip || false }, async () => {
  const cache = mkdtempSync(join(folder, "cache-"));
  await lab(["--image", archive, "--remedies", "nothing", ...quick], { cache });
  const images = (...args: string[]): Promise<Ended> =>
    runProgram(process.execPath, [program, "images", ...args], {
      env: { ...process.env, XDG_CACHE_HOME: cache },
    });
  assert.match((await images()).out, /^image +id +size +last used\n\S+web\.tar +[0-9a-f]{12} /);
  assert.equal((JSON.parse((await images("--json", "-")).out) as unknown[]).length, 1);
  assert.deepEqual(JSON.parse((await images("--remove", "--json", "-")).out), { removed: 1, inUse: 0 });
  assert.match((await images("--remove")).err, /^0 removed$/m);
  assert.match((await images()).err, /no image is unpacked/);
});
