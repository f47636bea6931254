/** A rule for oxlint: `new Date()` reads the time, `new Date(atMs)` does not. Its option is the message. */
export default {
  meta: { name: 'scrapdeck' },
  rules: {
    'no-new-date': {
      meta: { type: 'problem', schema: [{ type: 'string' }] },
      /** @param {{ options: string[], report(found: { node: object, message?: string }): void }} context */
      create: (context) => ({
        /** @param {{ callee: { name?: string }, arguments: unknown[] }} node */
        NewExpression(node) {
          const asksForTheTime = node.callee.name === 'Date' && node.arguments.length === 0
          if (asksForTheTime) context.report({ node, message: context.options[0] })
        }
      })
    }
  }
}
