import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants, type ClientHttp2Session } from "node:http2";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fixture, inPod, startScript } from "./child.ts";
import { Balancer } from "./network.ts";

/** Sends streams until it is asked to go. Resolves with how they ended: by their reset code, or not before the process. */
async function busyUntilAsked(
  session: ClientHttp2Session,
  processEnds: Promise<string>,
): Promise<Record<string, number>> {
  const ends: Promise<number | string>[] = [];
  await once(session, "connect");
  while (!session.closed) {
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    stream.resume();
    const end = new Promise<number>((resolve) => {
      stream.on("close", () => resolve(stream.rstCode ?? 0));
    });
    ends.push(Promise.race([end, processEnds]));
    // On a busy machine answers fall behind; more and more of them would measure the machine.
    if (ends.length % 30 === 0) await Promise.race([end, processEnds]);
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
  test(`${protocol}: streams that are on their way when the client is asked to go are answered or sent back`, async (t) => {
    await using child = await startScript([fixture("protocols.ts")], {
      ...inPod,
      PROTOCOL: protocol,
      LAMEDUCK_POLICY: "fixed",
      LAMEDUCK_DELAY: "4s",
      LAMEDUCK_FLOOR: "400ms",
    });
    // Some milliseconds away: whenever a client is asked to go, it has streams on their way.
    const balancer = await new Balancer(child.port).listen();
    const sessions = Array.from({ length: 10 }, () =>
      connect(`${scheme}://127.0.0.1:${balancer.port}`, { rejectUnauthorized: false }),
    );
    t.after(async () => {
      for (const session of sessions) session.destroy();
      await balancer.close();
    });
    const processEnds = child.until("closed").then(() => "with the process");
    const work = sessions.map((session) => {
      session.on("error", () => undefined);
      return busyUntilAsked(session, processEnds);
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
  });
