/** For fields that hold a path, an expression or other text that a machine reads. */
export const CODE_INPUT = { classNames: { input: 'mono' }, spellCheck: false, autoComplete: 'off' } as const
