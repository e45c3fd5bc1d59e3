import { EntryText, Pieces } from "./entry-text.ts";
import type { Journal } from "./journal.ts";
import type { Label } from "./ledger.ts";
import { childrenOf } from "./tree.ts";

/** The JSON of `nestedTree`, in pieces. JSON.stringify calls itself once a level and fails some thousand levels deep. */
export function* treeJson({ entries, ledger: { labels } }: Journal): Generator<Uint8Array> {
  const { nodes } = entries;
  const { firstRoot, first, next } = childrenOf(nodes);
  const text = new EntryText(entries);
  const pieces = new Pieces();
  pieces.add("[");
  for (let at = firstRoot; at >= 0; ) {
    pieces.add('{"entry":');
    pieces.add(text.of(nodes[at]!));
    pieces.add(',"children":[');
    yield* pieces.take();
    if (first[at]! >= 0) {
      at = first[at]!;
      continue;
    }
    // Up, past all that end here, to the next one that has a sibling.
    for (;;) {
      const node = nodes[at]!;
      pieces.add(tail(labels.get(node.id)));
      const sibling = next[at]!;
      if (sibling >= 0) {
        pieces.add(",");
        at = sibling;
        break;
      }
      if (!node.parent) {
        at = -1;
        break;
      }
      at = node.parent.index;
    }
  }
  pieces.add("]");
  yield* pieces.end();
}

function tail(label: Label | undefined): string {
  return label ? `],"label":${JSON.stringify(label.label)},"labelTimestamp":${JSON.stringify(label.timestamp)}}` : "]}";
}
