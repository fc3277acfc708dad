import type { CommandShape, OptionShape } from "./tree.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** A script for a shell, complete in itself: nothing is run while somebody types. */
export function completionScript(shell: Shell, commands: readonly CommandShape[]): string {
  switch (shell) {
    case "bash":
      return bash(commands);
    case "zsh":
      return zsh(commands);
    case "fish":
      return fish(commands);
  }
}

function bash(commands: readonly CommandShape[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options.flatMap(({ names, value }) => {
      if (value === "none") return [];
      const when = names.map((option) => `"${name} ${option}"`).join("|");
      const words = typeof value === "string" ? [] : value;
      // An empty answer leaves files to `-o default`.
      return [`    ${when}) ${value === "file" ? "" : `${compgen(words)}; compopt +o default; `}return ;;`];
    }),
  );
  return `# lameduck completion for bash: source <(lameduck completion bash)
_lameduck() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    ${compgen(commands.map(({ name }) => name))}
    return
  fi
  case "$command $prev" in
${values.join("\n")}
  esac
  case $command in
${commands.map(({ name, options }) => `    ${name}) words="${options.flatMap(({ names }) => names).join(" ")}" ;;`).join("\n")}
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}
complete -o default -F _lameduck lameduck
`;
}

function compgen(words: readonly string[]): string {
  return words.length === 0 ? "COMPREPLY=()" : `COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$cur"))`;
}

function zsh(commands: readonly CommandShape[]): string {
  const listed = commands.map(({ name, description }) => quoted(`${name}:${description}`));
  return `#compdef lameduck
# lameduck completion for zsh: source <(lameduck completion zsh), after compinit
_lameduck() {
  local -a commands=(
    ${listed.join("\n    ")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${commands
  .map(({ name, options }) => {
    const specs = options.flatMap((option) => zshSpecs(option));
    return `    ${name})\n      _arguments \\\n        ${[...specs, "'*:file:_files'"].join(" \\\n        ")} ;;`;
  })
  .join("\n")}
  esac
}
compdef _lameduck lameduck
`;
}

function zshSpecs({ names, description, value }: OptionShape): string[] {
  const text = description.replaceAll(/[[\]\\:]/g, (one) => `\\${one}`);
  const what =
    value === "none"
      ? ""
      : value === "file"
        ? ":file:_files"
        : value === "anything"
          ? ":value: "
          : `:value:(${value.join(" ")})`;
  return names.map((name) => quoted(`*${name}[${text}]${what}`));
}

function fish(commands: readonly CommandShape[]): string {
  const lines = commands.flatMap(({ name, description, options }) => [
    `complete -c lameduck -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
    ...options.map(({ names, description: about, value }) => {
      const flags = names.map((one) => (one.startsWith("--") ? `-l ${one.slice(2)}` : `-s ${one.slice(1)}`));
      const what =
        value === "none"
          ? ""
          : value === "file"
            ? " -r -F"
            : value === "anything"
              ? " -x"
              : ` -x -a ${quoted(value.join(" "))}`;
      const when = quoted(`__fish_seen_subcommand_from ${name}`);
      return `complete -c lameduck -n ${when} ${flags.join(" ")}${what} -d ${quoted(about)}`;
    }),
  ]);
  return `# lameduck completion for fish: lameduck completion fish | source\n${lines.join("\n")}\n`;
}

/** In single quotes, for all three. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
