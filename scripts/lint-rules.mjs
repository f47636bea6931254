/** Rules for oxlint. Each takes its message as an option. */
export default {
  meta: { name: 'scrapdeck' },
  rules: {
    /** `new Date()` reads the time, `new Date(atMs)` does not. */
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
    },
    /** `{ ...{ a, b }, c }` is `{ a, b, c }`. Unicorn's own rule also rejects copies that loops need. */
    'no-spread-literal': {
      meta: { type: 'problem', schema: [{ type: 'string' }] },
      /** @param {{ options: string[], report(found: { node: object, message?: string }): void }} context */
      create: (context) => ({
        /** @param {{ argument: { type: string }, parent: { type: string } }} node */
        SpreadElement(node) {
          const isLiteral = node.argument.type === 'ObjectExpression' && node.parent.type === 'ObjectExpression'
          if (isLiteral) context.report({ node, message: context.options[0] })
        }
      })
    }
  }
}
