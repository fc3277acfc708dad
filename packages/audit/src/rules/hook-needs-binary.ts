import { replaceField, type Edit } from "@lameduck/manifests";
import { fixOf, hasNativeSleep } from "./edits.ts";
import type { Container } from "../model/container.ts";
import { onlySleep } from "../model/only-sleep.ts";
import { programOf } from "../model/shell/commands.ts";
import type { Context, Rule } from "../rule.ts";

/** Images without a shell and without coreutils, by their names. */
const bare =
  /(?:^|\/)distroless\/(?!.*:.*debug)|-distroless(?:[:@]|$)|:(?:[^:/]*-)?distroless\b|^cgr\.dev\/chainguard\/(?!.*(?:-dev|busybox|bash))|^scratch$|^registry\.k8s\.io\/(?:coredns|kube-|pause)/;

export const hookNeedsBinary: Rule = {
  id: "hook-needs-binary",
  isOfLinux: true,
  title: "The preStop hook runs a program that the image may not have",
  meaning: `An \`exec\` hook runs a program of the container's image. Distroless and scratch images have no \`sleep\` and no shell. A script of
a ConfigMap cannot be started as a program unless its volume has a \`defaultMode\` such as 0755. The kubelet does not treat a hook that cannot start
as an error. It writes the event FailedPreStopHook and sends SIGTERM at once, so the pod stops as it would without a hook. Since Kubernetes 1.30 the
kubelet itself can sleep: \`preStop: { sleep: { seconds: 15 } }\`.`,
  remedy:
    "Use the kubelet's own sleep, or an image that has the program; `lameduck inject` puts a hold in place of the sleep, with the annotation lameduck.dev/existing-sleep: replace",
  references: [
    "https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/3960-pod-lifecycle-sleep-action",
  ],
  *check(workload, context) {
    for (const container of [...workload.containers, ...workload.sidecars]) {
      const { hook, image } = container;
      if (hook?.kind !== "exec") continue;
      if (hook.failure !== undefined) {
        const { because, remedy } = hook.failure;
        yield {
          severity: "error",
          message: `the hook fails at once, and the pod stops without it: ${because}`,
          at: hook.number ?? hook.field,
          container: container.name,
          remedy,
        };
        continue;
      }
      const program = programOf(hook.command[0]);
      const isBare =
        image !== undefined && bare.test(image) && /^(?:sleep|sh|bash|ash|curl|wget|kill|nc)$/.test(program);
      const sleep = onlySleep(hook.command);
      const isSleep = "seconds" in sleep && sleep.stop === undefined;
      if (!isBare && !isSleep) continue;
      yield {
        severity: isBare ? "warning" : "info",
        message: isBare
          ? `the hook runs \`${program}\`, which ${image} does not have by its name: the pod then stops without a hook`
          : `the hook needs \`${program}\` in the image; the kubelet can sleep itself`,
        at: hook.number ?? hook.field,
        container: container.name,
        ...(isSleep
          ? fixOf(`the kubelet sleeps ${sleep.seconds} s itself`, [
              nativeSleep(container, sleep.seconds, context),
            ])
          : {}),
      };
    }
  },
};

function nativeSleep({ hook }: Container, whole: number, context: Context): Edit | undefined {
  if (hook === undefined || !hasNativeSleep(context)) return undefined;
  const text = context.textOf(hook.field.source.file);
  return replaceField(text, hook.field, "sleep", { seconds: String(whole) });
}
