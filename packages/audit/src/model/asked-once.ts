/** The same answer without asking again: many workloads and rules ask the same of one object. */
export function askedOnce<Of extends object, Answer>(ask: (of: Of) => Answer): (of: Of) => Answer {
  const known = new WeakMap<Of, { readonly answer: Answer }>();
  return (of) => {
    const found = known.get(of) ?? { answer: ask(of) };
    known.set(of, found);
    return found.answer;
  };
}
