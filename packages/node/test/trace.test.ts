import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { timelineText, parseTrace, replay } from "@lameduck/drain";
import { withoutRootOr } from "../../../scripts/programs.ts";
import { lameduck } from "../src/index.ts";
import { ask } from "./ask.ts";
import { inPod, startServer, type Child } from "./child.ts";

const volume = mkdtempSync(join(tmpdir(), "lameduck-trace-"));
after(() => rmSync(volume, { recursive: true }));
let files = 0;
const nextFile = (): string => join(volume, `${++files}.jsonl`);

const short = { ...inPod, LAMEDUCK_GRACE_PERIOD: "15s", LAMEDUCK_FLOOR: "50ms" };

/** A server that is asked, and told to end. */
async function traced(env: Record<string, string>, wanted: object = {}): Promise<Child> {
  const child = await startServer(wanted, { ...short, ...env });
  for (let request = 0; request < 60; request++) await ask(child.port);
  child.kill();
  // It may have closed by then.
  for (let request = 0; request < 10; request++) await ask(child.port).catch(() => {});
  await child.exited;
  return child;
}

function notices(child: Child): string[] {
  return child.events.flatMap((event) => (event.lameduck === "notice" ? [event.message] : []));
}

/** A recording rounds to microseconds, which may turn a tenth of a second that is told. */
function assertSameBut(one: string, other: string): void {
  const tenths = /\d+\.\d/g;
  assert.equal(one.replace(tenths, "0.0"), other.replace(tenths, "0.0"));
  const others = [...other.matchAll(tenths)];
  for (const [index, [number]] of [...one.matchAll(tenths)].entries())
    assert.ok(Math.abs(Number(number) - Number(others[index]?.[0])) < 0.11, `${one}; ${other}`);
}

test("a recorded hold, fed to the decision again, stops at the same moment for the same reason", async () => {
  const path = nextFile();
  await using child = await traced({ LAMEDUCK_TRACE: path });
  const { hold, reason, explanation, waitedFor, met } = child.event("closing")!;
  const trace = parseTrace(readFileSync(path, "utf8"), path);
  assert.equal(trace.end?.leftOut, 0);
  assert.equal(trace.header.on, "SIGTERM");
  assert.ok(Math.abs(trace.header.clock.epoch - Date.now()) < 60_000);
  const replayed = replay(trace);
  assert.equal(replayed.reason, reason);
  assert.equal(Math.round(replayed.length), hold);
  assert.ok(replayed.stop! <= hold);
  assert.equal(replayed.stop, replayed.recordedStop);
  assertSameBut(timelineText(replayed.timeline), explanation);
  assert.match(
    explanation,
    /^(?:floor \d+\.\d, )?127\.0\.0\.1 \([\d.]+\/s before, silent \d+\.\d s\) until \d+\.\d/,
  );
  assert.equal(waitedFor?.sender, "127.0.0.1");
  assert.ok(met["silence"]! <= hold && (met["floor"] ?? 0) <= met["silence"]!);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(notices(child), []);
});

test("state() says whom the hold waits for, from its beginning on", async () => {
  const server = createServer((_request, response) => response.end("ok\n"));
  const options = { policy: "adaptive", floor: 0, log: false, exit: false, signals: false } as const;
  const duck = lameduck(server, { ...options, environment: { LAMEDUCK_GRACE_PERIOD: "30s" } });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  for (let request = 0; request < 20; request++) await ask(port);
  assert.equal(duck.state().hold, undefined);
  const closed = duck.terminate();
  await ask(port);
  const { hold } = duck.state();
  assert.match(
    hold?.explanation ?? "",
    /^still waiting for 127\.0\.0\.1 \([\d.]+\/s before, silent 0\.\d s\)$/,
  );
  assert.deepEqual(hold?.met, {});
  assert.deepEqual(hold.unmet, ["silence"]);
  void duck.stop();
  await closed;
  assert.equal(duck.state().hold?.waitedFor?.sender, "127.0.0.1");
});

test("a recording is whole although a handler of the application exits when the hold is over", async () => {
  const path = nextFile();
  await using child = await traced({ LAMEDUCK_TRACE: path, LAMEDUCK_CAP: "500ms" }, { ownHandler: "exit" });
  assert.match(child.stdout, /own handler/);
  assert.ok(parseTrace(readFileSync(path, "utf8"), path).end);
});

test("in a directory each process has its file; a trace that is there is kept as an older one", async () => {
  await using child = await traced({ LAMEDUCK_TRACE: volume, LAMEDUCK_CAP: "500ms" });
  const [file] = readdirSync(volume).filter((name) => name.endsWith(`-${child.process.pid}.jsonl`));
  assert.ok(file);
  const path = join(volume, file);
  const first = readFileSync(path, "utf8");
  await using again = await traced({ LAMEDUCK_TRACE: path, LAMEDUCK_CAP: "500ms" });
  assert.equal(readFileSync(`${path}.1`, "utf8"), first);
  assert.notEqual(readFileSync(path, "utf8"), first);
  assert.deepEqual(notices(again), []);
});

/** What cannot be written is one line in the log, and the hold is as without it. */
async function refuses(path: string, problem: RegExp): Promise<void> {
  await using child = await traced({ LAMEDUCK_TRACE: path, LAMEDUCK_CAP: "500ms" });
  assert.equal((await child.exited).code, 0);
  assert.equal(notices(child).length, 1, notices(child).join("\n"));
  assert.match(notices(child).join(), problem);
  assert.equal(child.event("closed")?.reason, "done");
}

test("a stranger's file, a link, a pipe and a place that is not there are left alone and told of once", async () => {
  const strange = nextFile();
  writeFileSync(strange, "precious\n");
  const link = nextFile();
  symlinkSync(strange, link);
  const pipe = nextFile();
  execFileSync("mkfifo", [pipe]);
  await Promise.all([
    refuses(strange, /^trace: .* holds something else and is left as it is/),
    refuses(link, /^trace: .* is no regular file and is left as it is/),
    refuses(pipe, /^trace: .* is no regular file and is left as it is/),
    refuses(join(volume, "absent/trace.jsonl"), /^trace: ENOENT/),
  ]);
  assert.equal(readFileSync(strange, "utf8"), "precious\n");
});

const full = "/dev/shm/lameduck-full";
const skip = withoutRootOr("mount", "umount");

test("a full disk costs the trace and nothing else", { skip }, async (t) => {
  execFileSync("mkdir", ["-p", full]);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k", "none", full]);
  t.after(() => {
    execFileSync("umount", [full]);
    rmSync(full, { recursive: true });
  });
  await refuses(join(full, "trace.jsonl"), /^trace: ENOSPC/);
  assert.ok(existsSync(join(full, "trace.jsonl")));
});

test("a root that is read-only is told of once", { skip }, async (t) => {
  const root = join(volume, "read-only");
  execFileSync("mkdir", ["-p", root]);
  execFileSync("mount", ["-t", "tmpfs", "-o", "ro", "none", root]);
  t.after(() => execFileSync("umount", [root]));
  await refuses(join(root, "trace.jsonl"), /^trace: EROFS/);
});
