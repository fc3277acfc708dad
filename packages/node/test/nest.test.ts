import assert from "node:assert/strict";
import { test } from "node:test";
import "reflect-metadata";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Lameduck, LameduckModule } from "../src/nest.ts";
import type { LameduckOptions } from "../src/index.ts";
import { ask } from "./ask.ts";
import { fixture, inPod, startScript } from "./child.ts";

function application(options: LameduckOptions): new () => object {
  class App {
    readonly name = "app";
  }
  Module({ imports: [LameduckModule.forRoot({ environment: {}, log: false, ...options })] })(App);
  return App;
}
const quiet = { logger: false, abortOnError: false } as const;

test("a Nest application serves on after SIGTERM, finishes, runs its shutdown hooks and ends by the signal", async () => {
  await using child = await startScript([fixture("nest.ts")], inPod);
  assert.equal((await ask(child.port)).body, "serving\n");
  child.kill();
  await child.until("lame-duck");
  const slow = ask(child.port, "/slow");
  assert.equal((await ask(child.port)).body, "lame-duck\n");
  assert.equal((await slow).body, "slow\n");
  assert.equal((await child.exited).signal, "SIGTERM");
  const closed = child.event("closed");
  assert.deepEqual([closed?.reason, closed?.cut], ["done", { requests: 0, connections: 0 }]);
  assert.match(child.stdout, /shut down by SIGTERM/);
});

test("a Nest application that its owner closes leaves nothing behind", async () => {
  const before = process.listenerCount("SIGTERM");
  const app = await NestFactory.create(application({}), quiet);
  await app.listen(0, "127.0.0.1");
  assert.equal(app.get(Lameduck).state().servers, 1);
  assert.equal(process.listenerCount("SIGTERM"), before + 1);
  await app.close();
  assert.equal(process.listenerCount("SIGTERM"), before);
});

test("a Nest application without an HTTP server has a handle all the same", async () => {
  const app = await NestFactory.createApplicationContext(application({}), quiet);
  assert.equal(app.get(Lameduck).state().servers, 0);
  await app.close();
});

test("a mistake in the options is an error of NestFactory.create()", async () => {
  await assert.rejects(NestFactory.create(application({ floor: "20" }), quiet), {
    code: "LAMEDUCK_BAD_DURATION",
  });
});
