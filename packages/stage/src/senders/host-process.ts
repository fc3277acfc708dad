import { serveParent } from "@lameduck/load";
import { ProxyHost } from "./host.ts";
import type { FromHost, ToHost } from "./protocol.ts";

serveParent<ToHost>((send: (message: FromHost) => void) => new ProxyHost(send));
