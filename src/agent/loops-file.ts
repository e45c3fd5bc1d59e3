/** Where the durable loops of a session stand: beside its file. */
export const loopsFile = (sessionFile: string): string => `${sessionFile}.loops.json`;
