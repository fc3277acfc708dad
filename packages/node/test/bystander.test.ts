import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { fixture, inPod, startScript, type Child } from "./child.ts";
import { bystanders, conversations } from "./conversations.ts";

const register = fileURLToPath(new URL("../src/register.ts", import.meta.url));

/** Twice, as what a conversation does to a server may only show in the next one. */
async function hold(child: Child): Promise<Map<string, unknown>> {
  const seen = new Map<string, unknown>();
  for (const round of [1, 2])
    for (const { server, name, hold: talk } of conversations)
      seen.set(
        `${server}: ${name} (${round}, ${seen.size})`,
        await talk(child.ports[bystanders.indexOf(server)]!),
      );
  return seen;
}

test("before SIGTERM servers behave with us as without us, byte by byte, over every protocol", async () => {
  const env = { ...inPod, LAMEDUCK_GRACE_PERIOD: "30s" };
  await using without = await startScript([fixture("bystander.ts")], env);
  await using attached = await startScript(["--import", register, fixture("bystander.ts")], env);
  const [expected, seen] = await Promise.all([hold(without), hold(attached)]);
  for (const [name, what] of expected) assert.deepEqual(seen.get(name), what, name);
  const outputs = [without, attached].map(({ stdout, stderr }) => [stdout.replaceAll(/\d+/g, "0"), stderr]);
  assert.deepEqual(outputs[1], outputs[0]);
  attached.kill();
  assert.equal((await attached.exited).code, 0, "it was attached");
  assert.ok(attached.event("closed"));
});
