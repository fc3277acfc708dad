/** Silence that says nothing of senders: the pod's network was taken away while it runs. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { initProgram, helperProgram, withoutCompiler } from "./compiled.ts";
import { without } from "../../../scripts/programs.ts";
import { Network } from "./network.ts";
import { go, pod, podBehind, reportOf, sender, terminate } from "./pod.ts";
import { endAll, withoutNamespaces, type Running } from "./running.ts";

after(endAll);
const skip = withoutCompiler || withoutNamespaces;
/** Less than the time for which an answer on its way is waited for, which does not matter here. */
const flags = ["--grace", "8s", "--reserve", "1s"];
/** Answers take long enough that some are under way at any time. */
const steady = { every: 50, pooled: true, delay: 300 };

describe("a cut network", { skip, concurrency: 4 }, () => {
  before(() => [initProgram(), helperProgram("without_netlink")]);

  interface Way {
    readonly what: string;
    readonly start: (network: Network) => Promise<Running>;
    readonly cut: (network: Network) => void;
    readonly skip?: string | false;
  }
  const whole = (network: Network): Promise<Running> => pod(network, flags);
  const ways: readonly Way[] = [
    { what: "nothing passes any more", start: whole, cut: (network) => network.cut() },
    {
      what: "nothing passes any more, seen in procfs alone",
      start: (network) => podBehind([helperProgram("without_netlink")], network, flags),
      cut: (network) => network.cut(),
    },
    {
      what: "nothing passes out of the pod any more",
      start: whole,
      cut: (network) => network.drop(),
      skip: without("nft"),
    },
  ];
  for (const { what, start, cut, skip: missing = false } of ways)
    test(
      `a hold says that its silence may be that of a cut network, where ${what}`,
      { skip: missing },
      async () => {
        await using network = await Network.create();
        const server = await start(network);
        for (const index of [1, 2]) await go(sender(network, index, { ...steady, for: 60_000 }));
        await server.line("served");
        terminate(server);
        await server.says("holding until");
        cut(network);
        await server.ended;
        const report = reportOf(server.stderr);
        assert.equal(report.network, "cut", server.stderr);
        assert.match(report.explanation, /the network was cut: \d+ of \d+ connections acknowledge nothing/);
      },
    );

  test("a hold says of senders that fall silent that they did, and nothing of the network", async () => {
    await using network = await Network.create();
    const server = await pod(network, flags);
    const clients = sender(network, 1, { ...steady, for: 1_500 });
    await go(clients);
    await server.line("served");
    terminate(server);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.network, undefined, server.stderr);
    assert.doesNotMatch(report.explanation, /network/);
  });

  test("a hold says nothing of the network where one sender vanishes and another is heard", async () => {
    await using network = await Network.create();
    const server = await pod(network, flags);
    await go(sender(network, 2, { ...steady, for: 60_000 }));
    await server.line("served");
    const other = sender(network, 1, { ...steady, for: 3_000 });
    await go(other);
    terminate(server);
    await server.says("holding until");
    network.vanish(2);
    await server.ended;
    const report = reportOf(server.stderr);
    assert.equal(report.network, undefined, server.stderr);
  });
});
