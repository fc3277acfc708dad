import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock as clock } from "../src/clock.ts";
import { Closing } from "../src/closing/closing.ts";
import { Hooks } from "../src/closing/hooks.ts";
import { Evidence } from "../src/hold/evidence.ts";
import { Hold, type HoldEnd } from "../src/hold/hold.ts";
import { parseSettings } from "../src/options/settings.ts";
import { Announcer } from "../src/reports/announce.ts";
import { Servers } from "../src/servers/servers.ts";
import { OtherHandlers } from "../src/signals/other-handlers.ts";
import { Termination } from "../src/termination.ts";

test("a hold whose termination fails at its begin ends with it", { timeout: 10_000 }, async () => {
  const settings = parseSettings({ policy: "fixed", delay: "20s", exit: false, log: false });
  const evidence = new Evidence(settings.drain, clock, () => undefined);
  const seen = { traffic: evidence, isProbe: () => false, isStream: () => false, health: undefined };
  const servers = new Servers(
    { ...seen, holds: true, spreads: false, now: () => clock.now(), random: Math.random },
    () => undefined,
    () => undefined,
  );
  Object.defineProperty(servers, "areListening", {
    get() {
      throw new Error("on purpose");
    },
  });
  const hold = new Hold(evidence, servers, clock, settings);
  const run = hold.run.bind(hold);
  let holding: Promise<HoldEnd> | undefined;
  hold.run = (...given) => (holding = run(...given));
  const nothing = (): void => undefined;
  const notices: string[] = [];
  const announcer = new Announcer(nothing);
  announcer.listen("notice", ({ message }: { message: string }) => notices.push(message));
  const termination = new Termination(
    {
      settings,
      clock,
      announcer,
      servers,
      evidence,
      hold,
      closing: new Closing(servers, clock),
      hooks: new Hooks(clock, nothing),
      others: new OtherHandlers(clock, nothing),
      endSpan: nothing,
      recording: undefined,
      coordinator: undefined,
      holder: undefined,
    },
    { exits: () => false, enter: nothing, held: nothing, letOthers: nothing, close: nothing, end: nothing },
  );
  assert.equal((await termination.run("test", 0, false)).phase, "closed");
  assert.deepEqual(notices, ["on purpose"]);
  assert.equal((await holding)?.reason, "forced");
});
