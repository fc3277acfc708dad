/** Marks that a renderer would have replaced, and how to have it done. */
const marks: readonly { readonly mark: RegExp; readonly remedy: string }[] = [
  {
    mark: /\{\{|\}\}/,
    remedy: "render it first, by `helm template CHART`, and give what comes out on stdin",
  },
  { mark: /\{%/, remedy: "render it first, by Jinja or what else its templates are for" },
  { mark: /<%/, remedy: "render it first, by ERB" },
  { mark: /#@/, remedy: "render it first, by `ytt -f FILE`, and give what comes out on stdin" },
  {
    mark: /\$\(\w[\w.-]*\)/,
    remedy: "render it first, by `kubectl kustomize FOLDER`, and give what comes out on stdin",
  },
  {
    mark: /\$\{?\w|\$\$\{/,
    remedy:
      "replace its variables first, by `envsubst < FILE` or what else replaces them, and give what comes out on stdin",
  },
  // `__PORT__`, `%%PORT%%`, `@PORT@`, `[[ port ]]`, `<PORT>`, `REPLACE_ME`
  {
    mark: /__\w+__|%%?\w+%%?|@\w+@|\[\[.*\]\]|^<[\w .-]+>$|^(?:REPLACE|CHANGE|FILL)[-_ ]?(?:ME|THIS|IN)\b/i,
    remedy: "put the values in their place first",
  },
];

/** The length of a value in which a mark is looked for: values come from clusters, too. */
const mostRead = 500;

/** What to do about a value that a renderer would have replaced; undefined for any other value. */
export function howToRender(value: string): string | undefined {
  const beginning = value.slice(0, mostRead);
  return marks.find(({ mark }) => mark.test(beginning))?.remedy;
}

/** Where a renderer's mark begins, in a document that YAML cannot read. A document of ytt is YAML whose values are in comments. */
export function markIn(
  text: string,
): { readonly offset: number; readonly remedy: string | undefined } | undefined {
  const offset = text.search(
    /\{\{|\{%|<%|(?:^[ \t]*|:[ \t]+)(?:#@ |@\w+@|%%?\w+%%?)|\[\[|[:[,{-][ \t]*\$\{\w/m,
  );
  return offset === -1 ? undefined : { offset, remedy: howToRender(text.slice(offset)) };
}

/** ytt gives values by comments. Where ytt has not run, they are missing. */
export function isYtt(text: string): boolean {
  return /^[ \t]*#@ |:[ \t]+#@ /m.test(text);
}
