import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants, type ClientHttp2Session } from "node:http2";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fixture, inPod, startScript } from "./child.ts";

/** A stream that has not ended after this long never will, milliseconds. */
const patience = 15_000;

/** Sends streams until it is asked to go. Resolves with how they ended: by their reset code, or not at all. */
async function busyUntilAsked(session: ClientHttp2Session): Promise<Record<string, number>> {
  const ends: Promise<number | string>[] = [];
  await once(session, "connect");
  while (!session.closed) {
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    stream.resume();
    const end = new Promise<number>((resolve) => {
      stream.on("close", () => resolve(stream.rstCode ?? 0));
    });
    ends.push(Promise.race([end, pause(patience, "never", { ref: false })]));
    // On a busy machine answers fall behind; more and more of them would measure the machine.
    if (ends.length % 10 === 0) await end;
    else await pause(1);
  }
  const counts: Record<string, number> = {};
  for (const end of await Promise.all(ends)) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}

for (const [protocol, scheme] of [
  ["h2c", "http"],
  ["h2", "https"],
] as const)
  test(`${protocol}: streams that are on their way when the client is asked to go are answered or sent back`, async () => {
    await using child = await startScript([fixture("protocols.ts")], {
      ...inPod,
      PROTOCOL: protocol,
      LAMEDUCK_POLICY: "fixed",
      LAMEDUCK_DELAY: "3s",
      LAMEDUCK_FLOOR: "400ms",
    });
    const sessions = Array.from({ length: 10 }, () =>
      connect(`${scheme}://127.0.0.1:${child.port}`, { rejectUnauthorized: false }),
    );
    const work = sessions.map((session) => {
      session.on("error", () => undefined);
      return busyUntilAsked(session);
    });
    await Promise.all(sessions.map((session) => once(session, "remoteSettings")));
    child.kill();
    const known = new Set(["0", String(constants.NGHTTP2_REFUSED_STREAM)]);
    for (const ends of await Promise.all(work)) {
      const strange = Object.keys(ends).filter((end) => !known.has(end));
      assert.deepEqual(strange, [], JSON.stringify(ends));
    }
    assert.equal((await child.exited).code, 0);
    assert.equal(child.event("closed")?.reason, "done");
    for (const session of sessions) session.destroy();
  });
