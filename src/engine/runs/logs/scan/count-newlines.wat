;; Counts the newlines in the bytes from $at to $end of the memory, 16 at a time. What follows $end up to the next
;; multiple of 16 must not hold any.
(module
  (memory (export "memory") 1)
  (func (export "count") (param $at i32) (param $end i32) (result i32)
    (local $newlines v128) (local $sum v128) (local $stop i32)
    (block $done
      (loop $outer
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        ;; Each of the 16 counters is a byte: it must be added up before it overflows.
        (local.set $stop (i32.add (local.get $at) (i32.const 4080)))
        (if (i32.gt_u (local.get $stop) (local.get $end)) (then (local.set $stop (local.get $end))))
        (local.set $newlines (v128.const i32x4 0 0 0 0))
        (loop $inner
          (local.set $newlines
            (i8x16.sub
              (local.get $newlines)
              (i8x16.eq (v128.load (local.get $at)) (i8x16.splat (i32.const 10)))))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $inner (i32.lt_u (local.get $at) (local.get $stop))))
        (local.set $sum
          (i32x4.add
            (local.get $sum)
            (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (local.get $newlines)))))
        (br $outer)))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
      (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum))))))
