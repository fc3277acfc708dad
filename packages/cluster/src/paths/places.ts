import { everyService, everyServiceIn } from "@lameduck/senders";

/** Where something that leads to a Service may stand: by its own name, by its namespace, by every Service. Each may come twice. */
export function placesOf(service: string): readonly string[] {
  const namespace = service.slice(0, service.indexOf("/"));
  return [service, everyServiceIn(namespace), everyService];
}
