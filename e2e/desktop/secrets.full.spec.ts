import { expect, sharedTest, test, untilDoor, WITHOUT_LOCAL_NODE } from './desktop-test.ts'

// Whether there is a real keychain depends on the machine. The stand-in can simulate both cases.
test('node passwords are kept in the keychain if there is one, and Settings say so', async ({ launch, userData }) => {
  const desktop = await launch({ environment: { ...WITHOUT_LOCAL_NODE, STAND_IN_KEYCHAIN: 'gnome_libsecret' } })
  test.skip(desktop.kind === 'electron', 'the keychain of this machine is not known')
  await desktop.window()
  const door = await untilDoor(userData)
  const { secrets } = (await door?.client.system.status()) ?? {}
  expect(secrets).toEqual({ store: 'keychain', text: expect.stringContaining('gnome_libsecret') })
})

sharedTest(
  'node passwords are kept in a file if there is no keychain, and Settings say why',
  async ({ desktop, userData }) => {
    test.skip(desktop.kind === 'electron', 'the keychain of this machine is not known')
    const door = await untilDoor(userData)
    const { secrets } = (await door?.client.system.status()) ?? {}
    expect(secrets).toEqual({ store: 'file', text: expect.stringContaining('no keychain') })
  }
)
