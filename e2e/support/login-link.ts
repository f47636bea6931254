import { basicAuthorization } from './basic-authorization.ts'
import { type Service, TEST_CREDENTIALS } from './service.ts'

/** Creates a link for one login. Pages that share a service cannot all use the link that it printed. */
export async function makeLoginLink({ address }: Pick<Service, 'address'>): Promise<string> {
  const authorization = basicAuthorization(TEST_CREDENTIALS)
  const response = await fetch(`${address}/ui/link`, { method: 'POST', headers: { authorization } })
  return address + (await response.text())
}
