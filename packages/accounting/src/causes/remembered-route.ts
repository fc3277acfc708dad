import { letGoAt, setOut, type Evidence } from "../evidence/evidence.ts";
import { seen } from "../phrases.ts";
import { tolerance } from "../evidence/tolerance.ts";
import { spell } from "../words.ts";

/**
 * C3, the second victim of a keep-alive race: a connection that the pod reset stays in its node's connection table for 10 s, and a new one that gets the
 * same local port is led the same way, whatever kube-proxy's rules say by then.
 */
export function rememberedRoute(evidence: Evidence): string | undefined {
  const { record, symptom, life } = evidence;
  const letGo = letGoAt(evidence);
  const at = setOut(record);
  const isNew = !record.reused && record.podKnownBy === "choice";
  if (!life || letGo === undefined || !isNew || (symptom !== "refused" && symptom !== "unreachable"))
    return undefined;
  const reset = evidence.run.lastReset(life, record.sender, at);
  if (reset === undefined || at - reset > tolerance.remembered) return undefined;
  return (
    `${seen(record)}: ${record.sender} had stopped choosing ${life.pod} ${spell(at - letGo)} before, but ${life.pod} had reset one of its connections ` +
    `${spell(at - reset)} before: for 10 s the kernel leads the next one from the same local port there, too`
  );
}
