// What is to be entered in a shell: names may hold anything, as a client or a process said them.
{
  // A label's value as one word.
  quoted(label): |||
    '{{ reReplaceAll "'" "'\\''" $labels.%s }}'
  |||[:-1] % label,
}
