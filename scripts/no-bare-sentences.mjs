/**
 * A rule for oxlint: all texts in the UI come from the catalogue. A text is what JSX shows, or a string that starts
 * with a capitalized word or has two words in a row. Its option is the message.
 */
const TEXT = /^[^\w]*[A-Z][a-z]+(?:[\s.,:;…?!’)]|$)|[A-Za-z’]{2,}[.,:;]? [A-Za-z’]{2,}/
const WORDS_IN_TEMPLATE = /\b[A-Za-z]{2,}[.,:;]?\s|\s[a-z]{2,}/
/** Values of `KeyboardEvent.key`, and names from HTTP. */
const NO_TEXTS =
  /^(?:Enter|Escape|Tab|Home|End|Delete|Backspace|Shift|Control|Meta|Alt|Arrow\w+|Page\w+|Bearer|Basic|Mod|content-type: [\w/]+)$/
/** Attributes whose values users do not read. */
const NO_TEXT_ATTRIBUTES =
  /^(?:class\w*|style|styles|fontFamily|width|height|key|queryKey|type|id|role|d|viewBox|transform|aria-keyshortcuts|aria-controls|rel|href|src|to|from|path|gridTemplateColumns|sizes|accept|autoComplete|transition\w*)$/
/** Selectors, and messages for developers. */
const NO_TEXT_CALLS = /^(?:closest|matches|querySelector|querySelectorAll)$/
const LOGS = /^(?:console|logger)$/

/** @typedef {{ type: string, parent: Node, [name: string]: any }} Node */

/** @param {Node} node @returns {boolean} */
function isRead(node) {
  const { parent } = node
  switch (parent.type) {
    case 'ImportDeclaration':
    case 'ImportExpression':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'TSLiteralType':
    case 'TSExternalModuleReference':
    case 'SwitchCase':
    case 'TaggedTemplateExpression':
      return false
    case 'BinaryExpression':
      return parent.operator === '+'
    case 'MemberExpression':
      return parent.property !== node
    case 'Property':
      return parent.key !== node && !String(parent.key.value).startsWith('--') && !isUnreadAttribute(parent)
    case 'CallExpression':
      return !isForDevelopers(parent.callee)
    case 'NewExpression':
      return !/^(?:Type|Range)?Error$/.test(parent.callee.name)
    default:
      return !isUnreadAttribute(parent)
  }
}

/** @param {Node} callee @returns {boolean} */
function isForDevelopers({ object, property }) {
  if (object === undefined) return false
  return NO_TEXT_CALLS.test(property.name) || LOGS.test(object.name ?? object.property?.name)
}

/** @param {Node} node @returns {boolean} */
function isUnreadAttribute(node) {
  for (let at = node; at !== null && at !== undefined; at = at.parent) {
    if (at.type === 'JSXAttribute') return NO_TEXT_ATTRIBUTES.test(at.name.name ?? '')
    if (at.type === 'Property' && !at.computed) return NO_TEXT_ATTRIBUTES.test(at.key.name ?? '')
    if (/Statement|Function|Declarat/.test(at.type)) return false
  }
  return false
}

export default {
  meta: { name: 'scrapdeck-texts' },
  rules: {
    'no-bare-sentences': {
      meta: { type: 'problem', schema: [{ type: 'string' }] },
      /** @param {{ options: string[], report(found: { node: object, message?: string }): void }} context */
      create(context) {
        /** @param {Node} node */
        const report = (node) => context.report({ node, message: context.options[0] })
        return {
          /** @param {Node} node */
          JSXText(node) {
            if (/[A-Za-z]{2,}/.test(node.value.replace(/&\w+;/g, ''))) report(node)
          },
          /** @param {Node} node */
          Literal(node) {
            if (typeof node.value !== 'string' || !TEXT.test(node.value) || NO_TEXTS.test(node.value)) return
            if (isRead(node)) report(node)
          },
          /** @param {Node} node */
          TemplateLiteral(node) {
            const words = node.quasis.some((/** @type {Node} */ quasi) =>
              WORDS_IN_TEMPLATE.test(quasi.value.cooked ?? '')
            )
            if (words && isRead(node)) report(node)
          }
        }
      }
    }
  }
}
