import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fixture, inPod, startScript, startServer, type Child } from "./child.ts";

const volume = mkdtempSync(join(tmpdir(), "lameduck-volume-"));
after(() => rmSync(volume, { recursive: true }));
let files = 0;
const nextFile = (): string => join(volume, `${++files}.json`);

function told(child: Child): string[] {
  return child.events.flatMap((event) => (event.lameduck === "notice" ? [event.message] : []));
}

test("a process that was killed before its end is told by the next one in the same volume, once", async () => {
  const env = { ...inPod, LAMEDUCK_STOP_FILE: nextFile(), LAMEDUCK_FLOOR: "20s" };
  await using first = await startServer({}, env);
  assert.deepEqual(told(first), []);
  first.kill();
  await first.until("lame-duck");
  first.kill("SIGKILL");
  await first.exited;
  await using second = await startServer({}, { ...env, LAMEDUCK_FLOOR: "0s" });
  assert.match(
    told(second).join(),
    /^the process before this one was killed about \S+ after SIGTERM, where it expected 30s: .*LAMEDUCK_GRACE_PERIOD/,
  );
  second.kill();
  assert.equal((await second.exited).code, 0);
  await using third = await startServer({}, env);
  assert.deepEqual(told(third), []);
  assert.equal(existsSync(env.LAMEDUCK_STOP_FILE), false);
});

for (const handler of ["async, exits", "throws"])
  test(`a process whose handler is one that ${handler} leaves nothing behind`, async () => {
    const path = nextFile();
    await using child = await startScript([fixture("handlers.ts")], {
      HANDLER: handler,
      LAMEDUCK_STOP_FILE: path,
      LAMEDUCK_GRACE_PERIOD: "4s",
    });
    child.kill();
    await child.until("closing");
    assert.equal(existsSync(path), true);
    await child.exited;
    assert.equal(existsSync(path), false);
  });

test("a volume that is not there, and a file that is none, are a line in the log and cost nothing else", async () => {
  await using absent = await startServer({}, { LAMEDUCK_STOP_FILE: join(volume, "absent/stop.json") });
  absent.kill();
  assert.equal((await absent.exited).code, 0);
  assert.match(told(absent).join(), /^stopFile: ENOENT/);
  const path = nextFile();
  writeFileSync(path, "half a rec");
  await using torn = await startServer({}, { LAMEDUCK_STOP_FILE: path });
  assert.match(told(torn).join(), /^stopFile: /);
  torn.kill();
  assert.equal((await torn.exited).code, 0);
});

test("a file of somebody else is left as it is: in place, behind a link, and a pipe is not waited for", async () => {
  const precious = nextFile();
  writeFileSync(precious, "precious");
  const link = nextFile();
  symlinkSync(precious, link);
  const pipe = nextFile();
  execFileSync("mkfifo", [pipe]);
  for (const [path, says] of [
    [precious, /holds something else/],
    [link, /ELOOP/],
    [pipe, /no regular file/],
  ] as const) {
    await using child = await startServer({}, { LAMEDUCK_STOP_FILE: path });
    child.kill();
    assert.equal((await child.exited).code, 0, path);
    assert.match(told(child).join("\n"), says);
    assert.equal(readFileSync(precious, "utf8"), "precious");
  }
});

test("a grace period that nobody said is told once, however many servers there are", async () => {
  const { KUBERNETES_SERVICE_HOST = "" } = inPod;
  await using child = await startServer({ servers: 3, apart: true }, { KUBERNETES_SERVICE_HOST });
  assert.equal(told(child).filter((message) => message.includes("LAMEDUCK_GRACE_PERIOD")).length, 1);
});
