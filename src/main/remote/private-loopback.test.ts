import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { findUser, isOfThisUser, pickLoopbackAddress } from './sign-in-relay.ts'

const NOBODY = 65_534
const isLinux = process.platform === 'linux'

async function listen(address: string) {
  const server = createServer().listen(0, address)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const accept = async () => {
    const [socket] = (await once(server, 'connection')) as [Socket]
    onTestFinished(() => void socket.on('error', () => {}).destroy())
    return socket
  }
  return { port, accept }
}

it('picks a free address if the system has more than one', () => {
  const picked = [pickLoopbackAddress('linux'), pickLoopbackAddress('win32')]
  for (const address of picked) expect(address).toMatch(/^127\.[1-9]\d*\.[1-9]\d*\.[1-9]\d*$/)
  expect(new Set(picked).size).toBe(2)
  expect(pickLoopbackAddress('darwin')).toBe('127.0.0.1')
})

it('finds the owner of a connection in both tables of the kernel', () => {
  const from = '0100007F:9C40'
  const to = '09034D7F:1F90'
  const rest = '01 00000000:00000000 00:00000000 00000000  1000        0 484 1 00000000ad59b324 100 0 0 10 0'
  const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
  const other = `   0: ${to} ${from} ${rest.replace('1000', '   7')}\n`
  const mapped = '0000000000000000FFFF0000'
  expect(findUser(`${head}${other}   1: ${from} ${to} ${rest}\n`, { from, to })).toBe(1000)
  expect(findUser(`${head}  11: ${mapped}${from} ${mapped}${to} ${rest}\n`, { from, to })).toBe(1000)
  expect(findUser(`${head}${other}`, { from, to })).toBeNull()
})

it('recognizes a connection of this user, and no ended one', async () => {
  const address = pickLoopbackAddress()
  const { port, accept } = await listen(address)
  const accepted = accept()
  const own = connect(port, address)
  onTestFinished(() => void own.destroy())
  const socket = await accepted
  expect(await isOfThisUser(socket)).toBe(true)
  socket.destroy()
  if (isLinux) expect(await isOfThisUser(socket)).toBe(false)
})

it('recognizes a connection of this user over an IPv6 socket', { skip: !isLinux }, async () => {
  const address = pickLoopbackAddress()
  const { port, accept } = await listen(address)
  const accepted = accept()
  const own = connect({ port, host: `::ffff:${address}`, family: 6 })
  onTestFinished(() => void own.destroy())
  expect(await isOfThisUser(await accepted)).toBe(true)
})

// Only root can start a program as another user.
it('refuses a connection of another user', { skip: !isLinux || process.getuid!() !== 0 }, async () => {
  const address = pickLoopbackAddress()
  const { port, accept } = await listen(address)
  const accepted = accept()
  const script = `exec 3<>/dev/tcp/${address}/${port}; sleep 60`
  const foreign = spawn('/bin/bash', ['-c', script], { uid: NOBODY, gid: NOBODY, cwd: '/', stdio: 'ignore' })
  onTestFinished(() => void foreign.kill())
  expect(await isOfThisUser(await accepted)).toBe(false)
})
