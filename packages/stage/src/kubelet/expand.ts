/**
 * `$(NAME)` in command, args and env, by Kubernetes' rules: unknown names stay as they are, `$$` is one dollar and protects what
 * follows (k8s.io/kubernetes/third_party/forked/golang/expansion).
 */
export function expand(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (whole: string, name: string | undefined) => {
    if (name === undefined) return "$";
    return values[name] ?? whole;
  });
}
