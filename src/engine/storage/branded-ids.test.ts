import { expectTypeOf, test } from 'vitest'
import type {
  Attempt,
  AttemptNumber,
  Job,
  JobId,
  NodeId,
  ProjectName,
  RunInput,
  SealedText,
  VersionName
} from '../../shared/contract/index.ts'
import type { StoredNode } from '../model/records.ts'
import type { Store } from './store.ts'

test('no id or name can stand where another is meant, and no plain text where one of them or a sealed one is', () => {
  expectTypeOf<JobId>().not.toExtend<NodeId>()
  expectTypeOf<ProjectName>().not.toExtend<VersionName>()
  expectTypeOf<string>().not.toExtend<JobId>()
  expectTypeOf<string>().not.toExtend<NodeId>()
  expectTypeOf<string>().not.toExtend<ProjectName>()
  expectTypeOf<string>().not.toExtend<VersionName>()
  expectTypeOf<number>().not.toExtend<AttemptNumber>()
  expectTypeOf<string>().not.toExtend<SealedText>()
  expectTypeOf<Parameters<Store['deleteVersion']>>().toEqualTypeOf<[ProjectName, VersionName]>()
})

test('what the contract infers, and what the store gives, has the types of its ids', () => {
  expectTypeOf<Job['id']>().toEqualTypeOf<JobId>()
  expectTypeOf<Job['project']>().toEqualTypeOf<ProjectName>()
  expectTypeOf<Attempt['nodeId']>().toEqualTypeOf<NodeId>()
  expectTypeOf<NonNullable<RunInput['version']>>().toEqualTypeOf<VersionName>()
  expectTypeOf<StoredNode['id']>().toEqualTypeOf<NodeId>()
})
