import { serveParent } from "./ipc.ts";
import { Generator } from "./generator.ts";
import type { FromGenerator, ToGenerator } from "./protocol.ts";

serveParent<ToGenerator>((send: (message: FromGenerator) => void) => new Generator(send));
