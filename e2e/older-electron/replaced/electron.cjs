// @ts-nocheck: the types are those of the app's own Electron.
// What Electron 25 lacks of Electron 45, over what it has. Everything else is Electron's own object.
const electron = require('electron')

/**
 * The same class, with its functions on the prototype, as in Electron 45. In Electron 25, each object has its own ones,
 * so a spec could not replace them.
 */
function withPrototype(Class, adapt = (object) => object) {
  const natives = new WeakMap()
  return new Proxy(Class, {
    construct(target, args) {
      const object = Reflect.construct(target, args)
      for (const [key, { value, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
        if (typeof value !== 'function' || !configurable) continue
        if (!(key in target.prototype)) {
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

/** Electron 45 gives `action` one event with `actionIndex`; Electron 25 gives the index as a second argument. */
function withActionIndex(notification) {
  const on = notification.on
  notification.on = (name, listener) =>
    on.call(
      notification,
      name,
      name === 'action'
        ? (event, actionIndex) => listener(typeof actionIndex === 'number' ? { actionIndex } : event)
        : listener
    )
  return notification
}

const safeStorage = {
  getSelectedStorageBackend: () => (electron.safeStorage.isEncryptionAvailable() ? 'gnome_libsecret' : 'basic_text'),
  isAsyncEncryptionAvailable: async () => electron.safeStorage.isEncryptionAvailable(),
  encryptStringAsync: async (text) => electron.safeStorage.encryptString(text),
  decryptStringAsync: async (sealed) => ({ result: electron.safeStorage.decryptString(sealed), shouldReEncrypt: false })
}

const replaced = {
  safeStorage,
  Tray: withPrototype(electron.Tray),
  Notification: withPrototype(electron.Notification, withActionIndex)
}

module.exports = new Proxy(electron, {
  get: (target, name) => (Object.hasOwn(replaced, name) ? replaced[name] : target[name])
})
