/** The properties of fields with a path, an expression or other machine-readable text. */
export const CODE_INPUT = { classNames: { input: 'mono' }, spellCheck: false, autoComplete: 'off' } as const
