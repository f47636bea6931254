// What Electron 25 lacks of Electron 45, over what it has. Everything else is Electron's own object.
/** @type {any} the types are those of the app's own Electron */
const electron = require('electron')

/**
 * The same class, with its functions on the prototype, as in Electron 45. In Electron 25, each object has its own ones,
 * so a spec could not replace them.
 * @param {any} Class @param {(object: any) => any} [adapt]
 */
function withPrototype(Class, adapt = (object) => object) {
  const natives = new WeakMap()
  return new Proxy(Class, {
    construct(target, args) {
      const object = Reflect.construct(target, args)
      const own = Object.entries(Object.getOwnPropertyDescriptors(object))
      for (const [key, { value, configurable }] of own) {
        if (typeof value !== 'function' || !configurable) continue
        if (!(key in target.prototype)) {
          /** @this {object} @param {any[]} rest */
          target.prototype[key] = function (...rest) {
            return natives.get(this)[key].apply(this, rest)
          }
        }
        natives.set(object, { ...natives.get(object), [key]: value })
        delete object[key]
      }
      return adapt(object)
    }
  })
}

/**
 * Electron 45 gives `action` one event with `actionIndex`; Electron 25 gives the index as a second argument.
 * @param {any} notification
 */
function withActionIndex(notification) {
  const on = notification.on
  notification.on = (/** @type {string} */ name, /** @type {(...given: any[]) => void} */ listener) =>
    on.call(
      notification,
      name,
      name === 'action'
        ? (/** @type {any} */ event, /** @type {unknown} */ actionIndex) =>
            listener(typeof actionIndex === 'number' ? { actionIndex } : event)
        : listener
    )
  return notification
}

const safeStorage = {
  getSelectedStorageBackend: () => (electron.safeStorage.isEncryptionAvailable() ? 'gnome_libsecret' : 'basic_text'),
  isAsyncEncryptionAvailable: async () => electron.safeStorage.isEncryptionAvailable(),
  encryptStringAsync: async (/** @type {string} */ text) => electron.safeStorage.encryptString(text),
  decryptStringAsync: async (/** @type {Buffer} */ sealed) => ({
    result: electron.safeStorage.decryptString(sealed),
    shouldReEncrypt: false
  })
}

/** @type {Record<string | symbol, unknown>} */
const replaced = {
  safeStorage,
  Tray: withPrototype(electron.Tray),
  Notification: withPrototype(electron.Notification, withActionIndex)
}

module.exports = new Proxy(electron, {
  get: (target, name) => (Object.hasOwn(replaced, name) ? replaced[name] : target[name])
})
