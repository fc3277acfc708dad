// Nothing of ours in here: `npm start` runs it with --import @lameduck/node/register, which keeps SIGTERM from Nest's own shutdown
// hooks until traffic has moved away. Decorators are applied by hand, to need no compiler.
import "reflect-metadata";
import { Controller, Get, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";

class Hello {
  hello() {
    return "hello\n";
  }
}
Get()(Hello.prototype, "hello", Object.getOwnPropertyDescriptor(Hello.prototype, "hello"));
Controller()(Hello);

class App {
  onApplicationShutdown(signal) {
    process.stdout.write(`nest: shut down by ${signal}\n`);
  }
}
Module({ controllers: [Hello] })(App);

const app = await NestFactory.create(App, { logger: false });
app.enableShutdownHooks();
await app.listen(Number(process.env.PORT ?? 8080));
