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

test('no id or name can be used in place of another, and no plain text in place of either or of encrypted text', () => {
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

test('the types of the contract and of the store have the types of their ids', () => {
  expectTypeOf<Job['id']>().toEqualTypeOf<JobId>()
  expectTypeOf<Job['project']>().toEqualTypeOf<ProjectName>()
  expectTypeOf<Attempt['nodeId']>().toEqualTypeOf<NodeId>()
  expectTypeOf<NonNullable<RunInput['version']>>().toEqualTypeOf<VersionName>()
  expectTypeOf<StoredNode['id']>().toEqualTypeOf<NodeId>()
})
