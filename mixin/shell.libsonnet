// Commands for a shell: names may contain anything, as a client or a process gave them.
{
  // A label's value as one word.
  quoted(label): |||
    '{{ reReplaceAll "'" "'\\''" $labels.%s }}'
  |||[:-1] % label,
}
