import type { EntryNode } from "./entries.ts";
import type { Entry } from "./entry.ts";
import type { Journal } from "./journal.ts";

/** An entry and what follows it, as `get_tree` shows it. */
export interface TreeNode {
  entry: Entry;
  children: TreeNode[];
  label?: string;
  labelTimestamp?: string;
}

export interface FlatNode {
  id: string;
  parentId: string | null;
  type: string;
  label?: string;
}

/** From an entry up to its root. */
export function* upwards(node: EntryNode | null): Generator<EntryNode> {
  for (let at = node; at; at = at.parent) yield at;
}

/** The roots, and below each entry what follows it, in the order of the file; by the numbers of the nodes, -1 is none. */
export interface ChildLists {
  firstRoot: number;
  first: Int32Array;
  next: Int32Array;
}

export function childrenOf(nodes: readonly EntryNode[]): ChildLists {
  const first = new Int32Array(nodes.length).fill(-1);
  const next = new Int32Array(nodes.length).fill(-1);
  let firstRoot = -1;
  for (let i = nodes.length - 1; i >= 0; i--) {
    const parent = nodes[i]!.parent;
    next[i] = parent ? first[parent.index]! : firstRoot;
    if (parent) first[parent.index] = i;
    else firstRoot = i;
  }
  return { firstRoot, first, next };
}

/** The whole tree as objects. Any depth can be built and walked; whether it can be printed is the printer's affair (see tree-json.ts). */
export function nestedTree({ entries, ledger: { labels } }: Journal): TreeNode[] {
  const made: TreeNode[] = [];
  const roots: TreeNode[] = [];
  for (const entry of entries.bodies(entries.nodes)) {
    const label = labels.get(entry.id);
    made.push({ entry, children: [], ...(label && { label: label.label, labelTimestamp: label.timestamp }) });
  }
  for (const node of entries.nodes) (node.parent ? made[node.parent.index]!.children : roots).push(made[node.index]!);
  return roots;
}

/** The tree as a list in the order of the file, for clients whose parser has a depth limit. */
export function flatTree({ entries, ledger: { labels } }: Journal): FlatNode[] {
  return entries.nodes.map((node) => {
    const label = labels.get(node.id)?.label;
    const flat: FlatNode = { id: node.id, parentId: node.parentId, type: node.type };
    return label === undefined ? flat : { ...flat, label };
  });
}
