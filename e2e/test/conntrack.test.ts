import assert from "node:assert/strict";
import { it } from "node:test";
import { destinationIn } from "../matrix/load/conntrack.ts";

const entry = (called: string, answering: string): string =>
  `tcp      6 118 SYN_SENT src=198.18.0.15 dst=${called} sport=40000 dport=80 [UNREPLIED] src=${answering} dst=198.18.0.15 sport=8080 dport=40000 mark=0 use=1\n`;

it("reads from the kernel's connection table where a connection was sent", () => {
  assert.equal(destinationIn(entry("198.19.3.4", "198.18.129.7")), "198.18.129.7");
});

it("knows nothing where nothing was rewritten, where two entries disagree, and where there is none", () => {
  assert.equal(destinationIn(entry("198.18.129.7", "198.18.129.7")), undefined);
  assert.equal(
    destinationIn(entry("198.19.3.4", "198.18.129.7") + entry("198.19.3.4", "198.18.130.9")),
    undefined,
  );
  assert.equal(destinationIn(""), undefined);
});
